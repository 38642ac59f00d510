// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/external_data.h"

#include <onnx/onnx.pb.h>

#include <optional>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::engine::onnx_format {
namespace {

struct Location {
  std::string name;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

std::string place(const ::onnx::TensorProto& proto) { return format_text("tensor \"{}\"", printable(proto.name())); }

Result<std::uint64_t> number(const ::onnx::TensorProto& proto, const std::string& key, const std::string& text) {
  if (const auto value = parse_number<std::uint64_t>(text)) return *value;
  return fail(ErrorCode::kBadData, format_text("external data: {} is \"{}\", expected a number", key, printable(text)),
              place(proto));
}

Result<Location> location(const ::onnx::TensorProto& proto) {
  Location found;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") found.name = entry.value();
    if (entry.key() == "offset") found.offset = KINGLET_TRY(number(proto, "offset", entry.value()));
    if (entry.key() == "length") found.length = KINGLET_TRY(number(proto, "length", entry.value()));
  }
  if (is_plain_name(found.name)) return found;
  return fail(
      ErrorCode::kBadData,
      format_text("external data is named \"{}\", expected a plain file name beside the model", printable(found.name)),
      place(proto), "save the model with its data in one file beside it");
}

bool is_link(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_symlink(path, ignored);
}

bool same_folder(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored);
}

}  // namespace

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

DataFolders DataFolders::of(const std::filesystem::path& model) {
  DataFolders folders(model.has_parent_path() ? model.parent_path() : ".");
  std::error_code failed;
  const std::filesystem::path leads_to = is_link(model) ? std::filesystem::canonical(model, failed) : model;
  if (!failed && leads_to.has_parent_path()) folders.home = leads_to.parent_path();
  return folders;
}

Result<std::filesystem::path> find_data_file(const DataFolders& folders, const std::string& name) {
  std::error_code failed;
  std::filesystem::path path = folders.named / name;
  if (!is_link(path) && !std::filesystem::exists(path, failed)) path = folders.home / name;
  if (!is_link(path)) return path;
  std::filesystem::path target = std::filesystem::canonical(path, failed);
  if (!failed &&
      (same_folder(target.parent_path(), folders.named) || same_folder(target.parent_path(), folders.home))) {
    return target;
  }
  return fail(ErrorCode::kNotPermitted, "is a link that leads away from its model", path.string(),
              "put a copy of the data beside the model");
}

Result<ExternalData::Opened*> ExternalData::open(const std::string& name) {
  const auto known = files_.find(name);
  if (known != files_.end()) return &known->second;
  const std::filesystem::path path = KINGLET_TRY(find_data_file(folders_, name));
  InputFile file = KINGLET_TRY(InputFile::open(path, Links::kRefuse));
  return &files_.emplace(name, Opened{.file = std::move(file), .bytes_read = 0, .pieces = {}}).first->second;
}

Result<Tensor> ExternalData::read(const ::onnx::TensorProto& proto, DataType type, Shape shape) {
  const Location where = KINGLET_TRY(location(proto));
  if (folders_.named.empty()) {
    return fail(ErrorCode::kUnsupported, "its numbers are in another file, which cannot be read here", place(proto));
  }
  auto opened = open(where.name);
  if (!opened) return std::unexpected(with_context(std::move(opened).error(), place(proto)));
  auto& [file, bytes_read, pieces] = **opened;
  const auto bytes = static_cast<std::uint64_t>(*element_count(shape)) * byte_size(type);
  if (where.length && *where.length != bytes) {
    return fail(
        ErrorCode::kBadData,
        format_text("external data has {} bytes, its shape {} needs {}", *where.length, to_string(shape), bytes),
        place(proto));
  }
  if (where.offset > file.size() || bytes > file.size() - where.offset) {
    return fail(ErrorCode::kBadData,
                format_text("external data: {} bytes from {} on are not in {}, which has {}", bytes, where.offset,
                            file.path().string(), file.size()),
                place(proto), "copy the model together with its data file");
  }
  const auto known = pieces.find({where.offset, bytes, type});
  if (known != pieces.end()) return known->second.reshaped(std::move(shape));
  if (bytes > file.size() - bytes_read) {
    return fail(
        ErrorCode::kBadData,
        format_text("external data: its {} bytes overlap those of other weights in {}", bytes, file.path().string()),
        place(proto));
  }
  bytes_read += bytes;
  Tensor tensor(type, std::move(shape));
  KINGLET_TRY(file.read_at(where.offset, tensor.mutable_bytes()));
  if (type == DataType::kBool) return tensor;  // its bytes are changed to 0 and 1 afterwards
  return pieces.emplace(Piece{where.offset, bytes, type}, std::move(tensor)).first->second;
}

std::optional<std::string> data_file_name(const ::onnx::TensorProto& proto) {
  if (proto.data_location() != ::onnx::TensorProto::EXTERNAL) return std::nullopt;
  std::string name;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") name = entry.value();
  }
  return name;
}

void set_external(::onnx::TensorProto& tensor, const std::string& file, std::uint64_t offset, std::uint64_t length) {
  tensor.clear_raw_data();
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  tensor.clear_external_data();
  const auto add = [&](std::string key, std::string value) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(std::move(key));
    entry.set_value(std::move(value));
  };
  add("location", file);
  add("offset", std::to_string(offset));
  add("length", std::to_string(length));
}

}  // namespace kinglet::engine::onnx_format
