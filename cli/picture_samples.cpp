// SPDX-License-Identifier: Apache-2.0
#include "cli/picture_samples.h"

#include <map>

#include "cli/picture_files.h"
#include "cli/pictures.h"
#include "engine/backend/layout.h"
#include "engine/session/model.h"
#include "visits/taxa.h"

namespace kinglet::cli {

namespace {

Result<engine::Tensor> prepared(PicturePipeline& pipeline, const std::string& name, const std::string& bytes) {
  const Result<PictureResult> prepared = pipeline.prepare(std::as_bytes(std::span(bytes)));
  if (!prepared) return std::unexpected(with_context(prepared.error(), name));
  const engine::TensorInfo& input = pipeline.model().session().inputs().front();
  const auto layout = input.layout == engine::TensorLayout::kNhwc ? engine::Layout::kNhwc : engine::Layout::kLogical;
  engine::Tensor tensor(input.type, input.shape);
  engine::copy_layout(input.shape, engine::byte_size(input.type), pipeline.model().session().input(0), layout,
                      tensor.mutable_bytes(), engine::Layout::kLogical);
  return tensor;
}

constexpr std::size_t kKeptBytes = std::size_t{64} << 20;

// Prepared pictures, as many as fit.
class Kept {
 public:
  Kept(PicturePipeline& pipeline, std::vector<Picture> pictures)
      : pipeline_(pipeline), pictures_(std::move(pictures)) {}

  Result<engine::Tensor> get(std::size_t i) {
    if (const auto found = kept_.find(i); found != kept_.end()) return found->second;
    const Picture& picture = pictures_.at(i);
    const std::string bytes = KINGLET_TRY(picture.read());
    engine::Tensor tensor = KINGLET_TRY(prepared(pipeline_, picture.name, bytes));
    if (bytes_ + tensor.byte_count() <= kKeptBytes) {
      bytes_ += tensor.byte_count();
      kept_.emplace(i, tensor);
    }
    return tensor;
  }

 private:
  PicturePipeline& pipeline_;
  std::vector<Picture> pictures_;
  std::map<std::size_t, engine::Tensor> kept_;
  std::size_t bytes_ = 0;
};

}  // namespace

Result<engine::Tensor> prepared_picture(PicturePipeline& pipeline, const std::string& file) {
  const std::string bytes = KINGLET_TRY(read_picture(file));
  return prepared(pipeline, file, bytes);
}

Result<PictureSamples> open_picture_samples(const ModelOptions& model, const std::string& where, std::size_t most,
                                            Output& out) {
  PictureSamples result;
  ModelOptions exact = model;
  exact.precision = "float32";
  result.pipeline = std::make_unique<PicturePipeline>(KINGLET_TRY(PicturePipeline::open(exact, out)));
  const visits::Taxa taxa = KINGLET_TRY(visits::Taxa::make(result.pipeline->model().labels()));
  const std::vector<Picture> all = KINGLET_TRY(find_pictures(where, most));
  std::vector<Picture> sound;
  std::size_t done = 0;
  for (const Picture& picture : all) {
    out.progress(picture.name, done++, all.size());
    const Result<std::string> bytes = picture.read();
    const auto readable = bytes ? prepared(*result.pipeline, picture.name, *bytes) : std::unexpected(bytes.error());
    if (!readable) {
      ++result.damaged;
      out.warn(describe(readable.error()));
      continue;
    }
    sound.push_back(picture);
    result.files.push_back(picture.name);
    result.digest += engine::text_digest(*bytes);
    std::optional<std::size_t> label;
    if (const auto taxon = picture.label.empty() ? std::nullopt : taxa.find(picture.label);
        taxon && *taxon < taxa.leaf_count()) {
      label = *taxon;
      ++result.labelled;
    }
    result.labels.push_back(label);
  }
  out.end_progress();
  if (result.files.empty()) {
    return fail(ErrorCode::kBadData, "no picture in it can be read", where, "expected JPEG or PNG files, or frames");
  }
  result.digest = engine::text_digest(result.digest);
  const auto kept = std::make_shared<Kept>(*result.pipeline, std::move(sound));
  result.samples = {.count = result.files.size(), .input = [kept](std::size_t i) { return kept->get(i); }};
  return result;
}

}  // namespace kinglet::cli
