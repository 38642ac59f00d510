// SPDX-License-Identifier: Apache-2.0
#include "cli/picture_samples.h"

#include <map>

#include "cli/labelled_pictures.h"
#include "engine/backend/layout.h"
#include "engine/base/text.h"
#include "engine/model.h"
#include "visits/taxa.h"

namespace kinglet::cli {

Result<engine::Tensor> prepared_picture(Classifier& classifier, const std::string& file) {
  const std::string bytes = KINGLET_TRY(read_picture(file));
  const Result<PictureResult> prepared = classifier.prepare(std::as_bytes(std::span(bytes)));
  if (!prepared) return std::unexpected(with_context(prepared.error(), file));
  const engine::TensorInfo& input = classifier.session().inputs().front();
  const auto layout = input.layout == engine::TensorLayout::kNhwc ? engine::Layout::kNhwc : engine::Layout::kLogical;
  engine::Tensor tensor(input.type, input.shape);
  engine::copy_layout(input.shape, engine::byte_size(input.type), classifier.session().input(0), layout,
                      tensor.mutable_bytes(), engine::Layout::kLogical);
  return tensor;
}

namespace {

constexpr std::size_t kKeptBytes = std::size_t{64} << 20;

// Prepared pictures, as many as fit.
class Kept {
 public:
  Kept(Classifier& classifier, const std::vector<std::string>& files) : classifier_(classifier), files_(files) {}

  Result<engine::Tensor> get(std::size_t i) {
    if (const auto found = kept_.find(i); found != kept_.end()) return found->second;
    engine::Tensor tensor = KINGLET_TRY(prepared_picture(classifier_, files_.at(i)));
    if (bytes_ + tensor.byte_count() <= kKeptBytes) {
      bytes_ += tensor.byte_count();
      kept_.emplace(i, tensor);
    }
    return tensor;
  }

 private:
  Classifier& classifier_;
  std::vector<std::string> files_;
  std::map<std::size_t, engine::Tensor> kept_;
  std::size_t bytes_ = 0;
};

// The folder's pictures with their labels; without folders of labels, all pictures that lie in it.
Result<std::vector<Labelled>> pictures_of(const std::string& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    return fail(ErrorCode::kNotFound, "there is no such folder", printable(folder),
                "expected a folder of JPEG or PNG files");
  }
  if (auto labelled = read_labelled(folder); labelled && !labelled->empty()) return labelled;
  std::vector<Labelled> out;
  for (std::string& file : KINGLET_TRY(expand_pictures({folder})))
    out.push_back({.file = std::move(file), .label = {}});
  return out;
}

std::vector<Labelled> evenly(std::vector<Labelled> all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<Labelled> out;
  out.reserve(most);
  for (std::size_t i = 0; i < most; ++i) out.push_back(std::move(all[i * all.size() / most]));
  return out;
}

}  // namespace

Result<PictureSamples> open_picture_samples(const ModelOptions& model, const std::string& folder, std::size_t most,
                                            Output& out) {
  PictureSamples result;
  result.classifier = std::make_unique<Classifier>(KINGLET_TRY(Classifier::open(model, out)));
  const visits::Taxa taxa = KINGLET_TRY(visits::Taxa::make(result.classifier->labels()));
  const std::vector<Labelled> all = evenly(KINGLET_TRY(pictures_of(folder)), most);
  std::size_t done = 0;
  for (const Labelled& picture : all) {
    out.progress(picture.file, done++, all.size());
    if (const auto readable = prepared_picture(*result.classifier, picture.file); !readable) {
      ++result.damaged;
      out.warn(describe(readable.error()));
      continue;
    }
    result.files.push_back(picture.file);
    result.digest += KINGLET_TRY(engine::file_digest(picture.file));
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
    return fail(ErrorCode::kBadData, "no picture in it can be read", folder, "expected JPEG or PNG files");
  }
  result.digest = engine::text_digest(result.digest);
  const auto kept = std::make_shared<Kept>(*result.classifier, result.files);
  result.samples = {.count = result.files.size(), .input = [kept](std::size_t i) { return kept->get(i); }};
  return result;
}

}  // namespace kinglet::cli
