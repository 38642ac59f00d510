// SPDX-License-Identifier: Apache-2.0
#include "engine/recipe/labels.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::engine {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1024} * 1024;
// Signs between the parents of a hybrid; the last is how a much copied list of birds spells it.
constexpr std::string_view kHybrids[] = {"\u00D7", "x", "\\xd7"};

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

// "Turdus", then one to four words in lower case: species, subspecies, the sign of a hybrid.
bool is_scientific(std::string_view name) {
  std::size_t words = 0;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find(' '), name.size());
    const std::string_view word = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    ++words;
    if (words == 1) {
      if (word.size() < 2 || !is_upper(word[0]) || !std::ranges::all_of(word.substr(1), is_lower)) return false;
    } else if (std::ranges::find(kHybrids, word) == std::end(kHybrids)) {
      const bool plain = std::ranges::all_of(word, [](char c) { return is_lower(c) || c == '-'; });
      if (word.empty() || !plain) return false;
    }
  }
  return words >= 2 && words <= 5;
}

Label make_label(std::string_view line, std::size_t index) {
  Label label;
  label.text = line;
  label.common_name = line;
  const std::size_t open = line.find(" (");
  if (open != std::string_view::npos && line.back() == ')' && line.size() > open + 3 &&
      is_scientific(line.substr(0, open))) {
    label.scientific_name = line.substr(0, open);
    label.common_name = line.substr(open + 2, line.size() - open - 3);
  }
  label.species_id = slug(label.scientific_name.empty() ? line : std::string_view(label.scientific_name));
  if (label.species_id.empty()) label.species_id = format_text("class-{}", index);
  if (label.species_id == "background" || label.species_id == "none") label.role = LabelRole::kBackground;
  return label;
}

// Offset of the first byte that is not part of valid UTF-8 text or is a control character; npos for good text.
std::optional<std::size_t> first_bad_byte(std::string_view line) {
  for (std::size_t i = 0; i < line.size();) {
    const auto lead = static_cast<unsigned char>(line[i]);
    const std::size_t length = std::min<std::size_t>(line.size() - i, lead < 0x80   ? 1
                                                                      : lead < 0xE0 ? 2
                                                                      : lead < 0xF0 ? 3
                                                                                    : 4);
    const std::string_view character = line.substr(i, length);
    if (character != "\t" && printable(character, 8) != character) return i;
    i += length;
  }
  return std::nullopt;
}

std::string_view trimmed(std::string_view line) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
  while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
  return line;
}

}  // namespace

std::string slug(std::string_view text) {
  std::string out;
  for (const char raw : text) {
    const char c = to_lower(raw);
    if (is_lower(c) || is_digit(c)) {
      out += c;
    } else if (raw != '\'' && !out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

Result<Labels> Labels::open(const std::filesystem::path& path) {
  const std::string text = KINGLET_TRY(read_file(path, kMaxBytes));
  return parse(text, printable(path.string()));
}

Result<Labels> Labels::parse(std::string_view text, std::string_view where) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.size() > kMaxBytes) {
    return fail(ErrorCode::kBadData, format_text("label file has {} bytes, the limit is {}", text.size(), kMaxBytes),
                std::string(where));
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  if (trimmed(text).empty()) {
    return fail(ErrorCode::kBadData, "label file is empty", std::string(where),
                "write one label a line, class 0 first");
  }
  std::vector<Label> labels;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string place = format_text("{}:{}", where, number);
    if (line.empty()) {
      return fail(ErrorCode::kBadData, "blank line between labels", place, "each line is one class; remove the line");
    }
    if (const auto bad = first_bad_byte(line)) {
      return fail(ErrorCode::kBadData, format_text("byte {} of the line is not UTF-8 text", *bad + 1), place,
                  "save the file as UTF-8");
    }
    labels.push_back(make_label(line, labels.size()));
  }
  return Labels(std::move(labels), std::string(where));
}

Labels Labels::numbered(std::size_t count) {
  std::vector<Label> labels;
  labels.reserve(count);
  for (std::size_t i = 0; i < count; ++i) labels.push_back(make_label(format_text("class {}", i), i));
  return {std::move(labels), "numbered classes"};
}

Result<void> Labels::check_count(std::size_t output_count) const {
  if (size() == output_count) return {};
  const bool one_missing = size() + 1 == output_count;
  std::string hint = format_text("use the label file that belongs to this model; line 1 is class 0{}",
                                 one_missing ? "; one line is missing, often \"background\"" : "");
  return fail(ErrorCode::kBadData,
              format_text("label file has {} labels, the model's output has {} classes", size(), output_count), where_,
              std::move(hint));
}

std::string to_text(const Labels& labels) {
  std::string text;
  for (const Label& label : labels) text += label.text + "\n";
  return text;
}

Result<std::optional<FoundLabels>> find_labels(const std::filesystem::path& model,
                                               const std::optional<std::filesystem::path>& explicit_path,
                                               std::optional<std::string_view> metadata_property) {
  std::filesystem::path path;
  if (explicit_path) {
    path = *explicit_path;
  } else {
    path = model;
    path.replace_extension(".labels.txt");
    std::error_code error;
    if (!std::filesystem::exists(path, error)) path.clear();
  }
  if (!path.empty()) return FoundLabels{.labels = KINGLET_TRY(Labels::open(path)), .origin = path.string()};
  if (!metadata_property) return std::nullopt;
  const std::string where = format_text("{}, metadata property {}", printable(model.string()), kLabelsProperty);
  return FoundLabels{.labels = KINGLET_TRY(Labels::parse(*metadata_property, where)), .origin = "in the model"};
}

}  // namespace kinglet::engine
