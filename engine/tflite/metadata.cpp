// SPDX-License-Identifier: Apache-2.0
#include "engine/tflite/metadata.h"

#include <zip.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "engine/base/format.h"
#include "engine/base/loaded_library.h"
#include "engine/base/text.h"
#include "engine/recipe/labels.h"
#include "engine/tflite/metadata_generated.h"

namespace kinglet::engine::tflite {
namespace {

constexpr std::uint64_t kMostBytes = 1U << 20U;
constexpr zip_int64_t kMostFiles = 1000;

// For labels behind a model alone; it brings two libraries more.
struct ZipLibrary : LoadedLibrary {
  static constexpr const char* kSoname = "libzip.so.5";
  static constexpr const char* kPackage = "libzip5";
  ZipLibrary() : LoadedLibrary(kSoname) {}

  KINGLET_LOADED(error_init, zip_error_init);
  KINGLET_LOADED(error_fini, zip_error_fini);
  KINGLET_LOADED(error_code, zip_error_code_zip);
  KINGLET_LOADED(error_text, zip_error_strerror);
  KINGLET_LOADED(source_of, zip_source_buffer_create);
  KINGLET_LOADED(source_free, zip_source_free);
  KINGLET_LOADED(open, zip_open_from_source);
  KINGLET_LOADED(discard, zip_discard);
  KINGLET_LOADED(get_error, zip_get_error);
  KINGLET_LOADED(stat_init, zip_stat_init);
  KINGLET_LOADED(stat, zip_stat);
  KINGLET_LOADED(count, zip_get_num_entries);
  KINGLET_LOADED(name, zip_get_name);
  KINGLET_LOADED(open_file, zip_fopen_index);
  KINGLET_LOADED(read, zip_fread);
  KINGLET_LOADED(close_file, zip_fclose);
};

// Where every zip has the record that ends it (APPNOTE.TXT, 4.3.16): 22 bytes and a comment.
bool may_end_with_zip(std::string_view bytes) {
  constexpr std::size_t kMostBytesOfEnd = 22 + 0xFFFF;
  return bytes.substr(bytes.size() - std::min(bytes.size(), kMostBytesOfEnd)).contains("PK\x05\x06");
}

// TensorFlow Lite's tools append files (labels) to a model as a zip, which libzip reads.
class AttachedFiles {
 public:
  // Nothing: there is no zip behind the model. kBadData: it is damaged. kUnavailable: no libzip. `bytes` outlive the
  // result.
  [[nodiscard]] static Result<std::optional<AttachedFiles>> open(std::string_view bytes);

  // kNotFound; kBadData: over 1 MiB, damaged, or packed in a way that is not known.
  [[nodiscard]] Result<std::string> read(const std::string& name) const;
  // The name of the only file that ends in ".txt"; empty: there is none, or there are several.
  [[nodiscard]] std::string only_text() const;

 private:
  using Archive = std::unique_ptr<zip_t, decltype(&::zip_discard)>;
  AttachedFiles(const ZipLibrary& zip, Archive archive) : zip_(&zip), archive_(std::move(archive)) {}

  const ZipLibrary* zip_;
  Archive archive_;
};

Result<std::optional<AttachedFiles>> AttachedFiles::open(std::string_view bytes) {
  if (!may_end_with_zip(bytes)) return std::nullopt;
  const ZipLibrary& zip = *KINGLET_TRY(loaded_library<ZipLibrary>());
  zip_error_t error;
  zip.error_init(&error);
  zip_source_t* source = zip.source_of(bytes.data(), bytes.size(), 0, &error);
  Archive archive(source == nullptr ? nullptr : zip.open(source, ZIP_RDONLY, &error), zip.discard);
  if (archive) return AttachedFiles(zip, std::move(archive));
  const bool none = zip.error_code(&error) == ZIP_ER_NOZIP;
  std::string message = printable(zip.error_text(&error));
  zip.source_free(source);
  zip.error_fini(&error);
  if (none) return std::nullopt;
  return fail(ErrorCode::kBadData, std::move(message));
}

Result<std::string> AttachedFiles::read(const std::string& name) const {
  zip_stat_t facts;
  zip_->stat_init(&facts);
  if (zip_->stat(archive_.get(), name.c_str(), 0, &facts) != 0 || (facts.valid & ZIP_STAT_SIZE) == 0) {
    return fail(ErrorCode::kNotFound, format_text("there is no {}", printable(name)));
  }
  if (facts.size > kMostBytes) return fail(ErrorCode::kBadData, format_text("{} is over 1 MiB", printable(name)));
  const std::unique_ptr<zip_file_t, decltype(&::zip_fclose)> file(zip_->open_file(archive_.get(), facts.index, 0),
                                                                  zip_->close_file);
  if (!file) {
    return fail(ErrorCode::kBadData, printable(zip_->error_text(zip_->get_error(archive_.get()))), printable(name));
  }
  std::string text(facts.size, '\0');
  if (zip_->read(file.get(), text.data(), text.size()) != static_cast<zip_int64_t>(text.size())) {
    return fail(ErrorCode::kBadData, "it is damaged", printable(name));
  }
  return text;
}

std::string AttachedFiles::only_text() const {
  std::string found;
  const zip_int64_t count = std::min(zip_->count(archive_.get(), 0), kMostFiles);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* entry = zip_->name(archive_.get(), static_cast<zip_uint64_t>(i), 0);
    const std::string name = entry == nullptr ? "" : entry;
    if (!name.ends_with(".txt")) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return found;
}

constexpr std::string_view kBufferName = "TFLITE_METADATA";
constexpr int kNormalization = 1;  // of ProcessUnit.options_type
constexpr int kAxisLabels = 2;     // of AssociatedFile.type
constexpr flatbuffers::uoffset_t kMostTables = 10'000;

template <typename Table>
const Table* first_of(const flatbuffers::Vector<flatbuffers::Offset<Table>>* tables) {
  return tables == nullptr || tables->size() == 0 ? nullptr : tables->Get(0);
}

struct GraphMetadata {
  const SubGraphMetadata* graph = nullptr;  // nullptr: there is none, or it is damaged
  std::span<const std::uint8_t> bytes;      // it lies in these
};

GraphMetadata of_graph(const Model& model, std::vector<std::string>& notes) {
  if (model.metadata() == nullptr || model.buffers() == nullptr) return {};
  for (const NamedBuffer* named : *model.metadata()) {
    if (named->name() == nullptr || named->name()->string_view() != kBufferName) continue;
    if (named->buffer() >= model.buffers()->size()) break;
    const auto* data = model.buffers()->Get(named->buffer())->data();
    if (data == nullptr) break;
    flatbuffers::Verifier verifier(data->data(), data->size(), 64, kMostTables);
    if (VerifyModelMetadataBuffer(verifier)) {
      return {.graph = first_of(GetModelMetadata(data->data())->subgraph_metadata()),
              .bytes = {data->data(), data->size()}};
    }
    notes.emplace_back("the model's metadata is damaged and was left out");
    break;
  }
  return {};
}

// One number for all channels, or one for each.
std::optional<std::array<double, 3>> of_channels(const flatbuffers::Vector<float>* numbers) {
  if (numbers == nullptr || (numbers->size() != 1 && numbers->size() != 3)) return std::nullopt;
  std::array<double, 3> out{};
  for (flatbuffers::uoffset_t i = 0; i < 3; ++i) out.at(i) = numbers->Get(numbers->size() == 1 ? 0 : i);
  if (!std::ranges::all_of(out, [](double number) { return std::isfinite(number); })) return std::nullopt;
  return out;
}

const NormalizationOptions* options_of(const ProcessUnit& unit, std::span<const std::uint8_t> bytes) {
  if (unit.options() == nullptr) return nullptr;
  const auto* found = reinterpret_cast<const NormalizationOptions*>(unit.options());
  // Which table it is said the field before it; only now its fields can be verified.
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  return found->Verify(verifier) ? found : nullptr;
}

std::optional<Normalization> normalization_of(const GraphMetadata& metadata, std::vector<std::string>& notes) {
  if (metadata.graph == nullptr) return std::nullopt;
  const TensorMetadata* input = first_of(metadata.graph->input_tensor_metadata());
  if (input == nullptr || input->process_units() == nullptr) return std::nullopt;
  for (const ProcessUnit* unit : *input->process_units()) {
    if (unit->options_type() != kNormalization) continue;
    const NormalizationOptions* options = options_of(*unit, metadata.bytes);
    const auto mean = options == nullptr ? std::nullopt : of_channels(options->mean());
    const auto std = options == nullptr ? std::nullopt : of_channels(options->std());
    if (mean && std && std::ranges::all_of(*std, [](double number) { return number > 0; })) {
      return Normalization{.mean = *mean, .std = *std};
    }
    notes.emplace_back("the normalisation in the model's metadata is not 1 or 3 numbers and was left out");
    return std::nullopt;
  }
  return std::nullopt;
}

// Display names stand in a file with a locale, names for programs in one without.
int liking(const AssociatedFile& file) {
  if (file.locale() == nullptr || file.locale()->size() == 0) return 1;
  return file.locale()->string_view().starts_with("en") ? 2 : 0;
}

// Empty: the metadata names none.
std::string label_file_of(const SubGraphMetadata* graph) {
  const TensorMetadata* output = graph == nullptr ? nullptr : first_of(graph->output_tensor_metadata());
  if (output == nullptr || output->associated_files() == nullptr) return {};
  const AssociatedFile* best = nullptr;
  for (const AssociatedFile* file : *output->associated_files()) {
    if (file->type() != kAxisLabels || file->name() == nullptr) continue;
    if (best == nullptr || liking(*file) > liking(*best)) best = file;
  }
  return best == nullptr ? std::string() : best->name()->str();
}

Result<Labels> read_labels(const AttachedFiles& files, const std::string& name, std::optional<std::size_t> classes) {
  const std::string text = KINGLET_TRY(files.read(name));
  Labels labels = KINGLET_TRY(Labels::parse(text, printable(name)));
  if (classes) KINGLET_TRY(labels.check_count(*classes));
  return labels;
}

void add_labels(const SubGraphMetadata* graph, std::string_view bytes, std::optional<std::size_t> classes,
                Metadata& out) {
  const Result<std::optional<AttachedFiles>> files = AttachedFiles::open(bytes);
  if (!files) return out.notes.push_back("the files attached to the model were left out: " + describe(files.error()));
  if (!*files) return;
  std::string name = label_file_of(graph);
  if (name.empty()) name = (*files)->only_text();
  if (name.empty()) return;
  const Result<Labels> labels = read_labels(**files, name, classes);
  if (!labels) return out.notes.push_back("the labels in the model were left out: " + describe(labels.error()));
  out.labels = to_text(*labels);
  out.notes.push_back(format_text("{} labels from {}, which was in the model", labels->size(), printable(name)));
}

}  // namespace

Metadata read_metadata(const Model& model, std::string_view bytes, std::optional<std::size_t> classes) {
  Metadata out;
  const GraphMetadata metadata = of_graph(model, out.notes);
  out.normalization = normalization_of(metadata, out.notes);
  add_labels(metadata.graph, bytes, classes, out);
  return out;
}

}  // namespace kinglet::engine::tflite
