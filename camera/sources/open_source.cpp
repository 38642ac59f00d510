// SPDX-License-Identifier: Apache-2.0
#include "camera/sources/open_source.h"

#include <vector>

#include "camera/sources/masked_source.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/base/words.h"

namespace kinglet::camera {

// The functions of the table below, each in camera/sources/<scheme>.cpp.
#define KINGLET_SOURCE(scheme, open_function, kind) \
  Result<std::unique_ptr<FrameSource>> open_function(std::string_view rest, const SourceOptions& options);
#include "camera/sources/sources.def"
#undef KINGLET_SOURCE

namespace {
constexpr SourceRow kSources[] = {
#define KINGLET_SOURCE(scheme, open_function, kind) {scheme, SourceKind::kind, open_function},
#include "camera/sources/sources.def"
#undef KINGLET_SOURCE
};
}  // namespace

std::span<const SourceRow> source_table() { return kSources; }

std::string_view to_string(SourceKind kind) {
  using enum SourceKind;
  static constexpr Word<SourceKind> kWords[] = {
      {kAttached, "attached"}, {kNetwork, "network"}, {kProgram, "program"}, {kFile, "file"}, {kDrawn, "drawn"}};
  return word_of(kWords, kind);
}

const SourceRow* find_source(std::string_view spec) {
  const auto* row = std::ranges::find(kSources, spec.substr(0, spec.find(':')), &SourceRow::scheme);
  return row == std::end(kSources) ? nullptr : row;
}

std::string known_schemes() {
  std::string listed;
  for (const SourceRow& row : kSources) listed += format_text("{}{}:", listed.empty() ? "" : ", ", row.scheme);
  return listed;
}

std::string scheme_hint(std::string_view spec) {
  std::vector<std::string_view> schemes;
  for (const SourceRow& row : kSources) schemes.push_back(row.scheme);
  const std::string_view nearest = nearest_name(spec.substr(0, spec.find(':')), schemes);
  if (!nearest.empty()) return format_text("did you mean \"{}:\"?", nearest);
  return spec.contains(':') ? std::string() : "for a folder of pictures write images:FOLDER";
}

SourceKind kind_of(std::string_view spec) {
  const SourceRow* row = find_source(spec);
  return row == nullptr ? SourceKind::kAttached : row->kind;
}

Result<std::unique_ptr<FrameSource>> open_source(const SourceOptions& options) {
  const std::string_view spec = options.spec;
  const SourceRow* row = find_source(spec);
  if (row == nullptr) {
    return fail(ErrorCode::kUsage,
                format_text("unknown source \"{}\", expected one of {}", printable(spec, 80), known_schemes()), {},
                scheme_hint(spec));
  }
  SourceOptions own = options;
  // They are painted on pixels: a photograph's JPEG would be decoded once more for each of its two pictures.
  if (!options.masks.empty()) own.needs = nullptr;
  const std::string_view rest = spec.substr(std::min(row->scheme.size() + 1, spec.size()));
  return with_masks(KINGLET_TRY(row->open(rest, own)), options.masks);
}

}  // namespace kinglet::camera
