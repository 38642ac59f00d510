// SPDX-License-Identifier: Apache-2.0
#include "cli/npy.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

using engine::DataType;
using engine::Shape;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kHeaderLimit = 1 << 16;
constexpr std::size_t kRankLimit = 8;
constexpr std::uint64_t kFileLimit = 1ULL << 31;

struct TypeRow {
  std::string_view descr;
  DataType type;
};
constexpr TypeRow kTypes[] = {{"<f4", DataType::kF32}, {"<f2", DataType::kF16}, {"<i8", DataType::kI64},
                              {"<i4", DataType::kI32}, {"|i1", DataType::kI8},  {"|u1", DataType::kU8},
                              {"|b1", DataType::kBool}};

struct Header {
  DataType type = DataType::kF32;
  Shape shape;
  std::size_t data_offset = 0;
};

std::unexpected<Error> bad(std::string_view where, std::string message, std::string hint = {}) {
  return fail(ErrorCode::kBadData, std::move(message), std::string(where), std::move(hint));
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<std::uint8_t>(bytes[i - 1]);
  return value;
}

// The text behind 'name': in the header's dictionary literal, blanks skipped; nothing when the name is absent.
std::optional<std::string_view> member(std::string_view dictionary, std::string_view name) {
  const std::string key = format_text("'{}':", name);
  const std::size_t at = dictionary.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = dictionary.substr(at + key.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

// "(1, 3, 224, 224)", "(5,)" or "()".
std::optional<Shape> parse_shape(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  text.remove_prefix(1);
  Shape shape;
  while (shape.size() <= kRankLimit) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.starts_with(')')) return shape;
    engine::Dim dim = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (error != std::errc{} || dim < 0) return std::nullopt;
    shape.push_back(dim);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(',')) {
      text.remove_prefix(1);
    } else if (!text.starts_with(')')) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

Result<DataType> parse_type(std::string_view descr, std::string_view where) {
  const std::string_view name = descr.size() >= 5 ? descr.substr(1, 3) : descr;
  for (const TypeRow& row : kTypes) {
    if (name == row.descr && descr[0] == '\'' && descr[4] == '\'') return row.type;
  }
  return bad(where, format_text("elements are {}", printable(descr.substr(0, descr.find(',')), 40)),
             "expected float32, float16, int64, int32, int8, uint8 or bool: save x.astype('float32')");
}

Result<Header> parse_header(std::string_view bytes, std::string_view where) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 12)
    return bad(where, "is not a .npy file", "write it with numpy.save");
  const auto version = static_cast<std::uint8_t>(bytes[6]);
  if (version < 1 || version > 3) return bad(where, format_text("has .npy version {}, expected 1 to 3", version));
  const std::size_t length_size = version == 1 ? 2 : 4;
  const std::size_t start = 8 + length_size;
  const std::uint64_t length = little_endian(bytes.substr(8, length_size));
  if (length > kHeaderLimit || length > bytes.size() - start) {
    return bad(where, format_text("the header says {} bytes of text, the file has {}", length, bytes.size() - start),
               "the file is cut off or damaged");
  }
  const std::string_view text = bytes.substr(start, length);
  const auto descr = member(text, "descr");
  const auto order = member(text, "fortran_order");
  const auto shape_text = member(text, "shape");
  if (!descr || !order || !shape_text) return bad(where, "the header lacks descr, fortran_order or shape");
  Header header{.type = KINGLET_TRY(parse_type(*descr, where)), .shape = {}, .data_offset = start + length};
  if (!order->starts_with("False")) {
    return bad(where, "the array is in Fortran order", "save numpy.ascontiguousarray(x)");
  }
  const std::optional<Shape> shape = parse_shape(*shape_text);
  if (!shape) return bad(where, format_text("the shape is not understood: {}", printable(*shape_text, 40)));
  header.shape = *shape;
  return header;
}

}  // namespace

Result<engine::Tensor> parse_npy(std::string_view bytes, std::string_view where) {
  const Header header = KINGLET_TRY(parse_header(bytes, where));
  const std::string_view data = bytes.substr(header.data_offset);
  const std::optional<std::int64_t> count = engine::element_count(header.shape);
  // Compared before anything is allocated: a shape of a hostile file may be any size.
  if (!count || static_cast<std::uint64_t>(*count) > kFileLimit ||
      static_cast<std::uint64_t>(*count) * byte_size(header.type) != data.size()) {
    return bad(where,
               format_text("{} {} does not fit the {} bytes of numbers in the file", to_string(header.type),
                           engine::to_string(header.shape), data.size()),
               "the file is cut off or damaged");
  }
  engine::Tensor tensor(header.type, header.shape);
  std::memcpy(tensor.mutable_bytes().data(), data.data(), data.size());
  return tensor;
}

Result<engine::Tensor> read_npy(const std::filesystem::path& path) {
  const std::string bytes = KINGLET_TRY(read_file(path, kFileLimit));
  return parse_npy(bytes, path.string());
}

std::string to_npy(const engine::Tensor& tensor) {
  const auto* row = std::ranges::find(kTypes, tensor.type(), &TypeRow::type);
  std::string shape;
  for (const engine::Dim dim : tensor.shape()) shape += format_text("{}, ", dim);
  if (tensor.shape().size() > 1) shape.resize(shape.size() - 2);
  if (tensor.shape().size() == 1) shape.pop_back();
  std::string text = format_text("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", row->descr, shape);
  constexpr std::size_t kAlignment = 64;  // of the numbers in the file
  const std::size_t prefix = kMagic.size() + 4;
  text.append(kAlignment - 1 - (prefix + text.size()) % kAlignment, ' ');
  text += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(text.size() & 0xFF);
  out += static_cast<char>(text.size() >> 8);
  out += text;
  const auto bytes = tensor.bytes();
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return out;
}

}  // namespace kinglet::cli
