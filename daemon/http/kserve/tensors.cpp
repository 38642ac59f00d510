// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/kserve/tensors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "engine/base/format.h"
#include "engine/base/words.h"
#include "engine/session/integer_inputs.h"

namespace kinglet::daemon::kserve {
namespace {

using engine::DataType;
using engine::TensorInfo;
using Body = nlohmann::json;

// IEEE 754 binary16.
double half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F;
  const int fraction = bits & 0x3FF;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

template <typename T>
T at(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// The number with the shortest text that gives the same float back: JSON is text.
double shortest(float value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  double number = static_cast<double>(value);
  std::from_chars(text.data(), end, number);
  return number;
}

double number_at(std::span<const std::byte> bytes, DataType type, std::size_t index) {
  return engine::with_element(type, [&]<typename T>() {
    if constexpr (std::is_same_v<T, engine::Half>) {
      return half(at<std::uint16_t>(bytes, index));
    } else if constexpr (std::is_same_v<T, bool>) {
      return static_cast<double>(at<std::uint8_t>(bytes, index));
    } else {
      return static_cast<double>(at<T>(bytes, index));
    }
  });
}

template <typename T>
void append(std::string& out, T value) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, sizeof(T));
  out.append(bytes.data(), bytes.size());
}

template <typename T>
bool append_integer(std::string& out, const Body& value) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return false;
  }
  const auto number = value.get<std::int64_t>();
  if (number < std::int64_t{std::numeric_limits<T>::min()} || number > std::int64_t{std::numeric_limits<T>::max()}) {
    return false;
  }
  append(out, static_cast<T>(number));
  return true;
}

bool append_value(std::string& out, const Body& value, DataType type) {
  return engine::with_element(type, [&]<typename T>() {
    if constexpr (std::is_same_v<T, float>) {
      if (!value.is_number()) return false;
      const auto number = static_cast<float>(value.get<double>());
      append(out, number);
      return std::isfinite(number);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (value.is_boolean()) append(out, static_cast<std::uint8_t>(value.get<bool>()));
      return value.is_boolean();
    } else if constexpr (std::is_same_v<T, engine::Half>) {
      return false;
    } else {
      return append_integer<T>(out, value);
    }
  });
}

struct Reader {
  const TensorInfo& info;
  std::string out;

  [[nodiscard]] std::unexpected<Error> wrong_count(std::size_t count, std::size_t wanted) const {
    return fail(ErrorCode::kBadData, format_text("input \"{}\": {} values in a row, expected {} of the shape {}",
                                                 info.name, count, wanted, shape_text(info.shape)));
  }
  Result<void> values(const Body& list) {
    for (const Body& value : list) {
      if (!append_value(out, value, info.type)) {
        return fail(ErrorCode::kBadData, format_text("input \"{}\": a value is no {}", info.name, datatype(info.type)));
      }
    }
    return {};
  }
  // The rest of the shape from `dimension` on; as deep as the shape has dimensions, never deeper.
  // NOLINTNEXTLINE(misc-no-recursion)
  Result<void> nested(const Body& list, std::size_t dimension) {
    const auto wanted = static_cast<std::size_t>(info.shape[dimension]);
    if (!list.is_array()) return wrong_count(1, wanted);
    if (list.size() != wanted) return wrong_count(list.size(), wanted);
    if (dimension + 1 == info.shape.size()) return values(list);
    for (const Body& part : list) KINGLET_TRY(nested(part, dimension + 1));
    return {};
  }
};

// Calls `move(file_index, memory_index)` for each element of an [N,C,H,W] that is held as [N,H,W,C].
template <typename Move>
void each_place(const TensorInfo& info, const Move& move) {
  const auto size = [&](std::size_t i) { return static_cast<std::size_t>(info.shape[i]); };
  const std::size_t channels = size(1);
  const std::size_t plane = size(2) * size(3);
  for (std::size_t n = 0; n < size(0); ++n) {
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t i = 0; i < plane; ++i) move((n * channels + c) * plane + i, (n * plane + i) * channels + c);
    }
  }
}

bool is_turned(const TensorInfo& info) { return info.layout == engine::TensorLayout::kNhwc && info.shape.size() == 4; }

// `way(file_index, memory_index)`: from where to where an element goes.
template <typename Way>
void copy_turned(std::span<const std::byte> from, const TensorInfo& info, std::span<std::byte> to, const Way& way) {
  if (!is_turned(info)) {
    std::ranges::copy(from, to.begin());
    return;
  }
  const std::size_t size = engine::byte_size(info.type);
  each_place(info, [&](std::size_t file, std::size_t memory) {
    const auto [source, target] = way(file, memory);
    std::memcpy(to.data() + target * size, from.data() + source * size, size);
  });
}

}  // namespace

std::string_view datatype(DataType type) {
  using enum DataType;
  static constexpr Word<DataType> kWords[] = {{kF32, "FP32"}, {kF16, "FP16"}, {kI64, "INT64"}, {kI32, "INT32"},
                                              {kI8, "INT8"},  {kU8, "UINT8"}, {kBool, "BOOL"}};
  return word_of(kWords, type);
}

std::size_t byte_count(const TensorInfo& info) {
  return static_cast<std::size_t>(engine::element_count(info.shape).value_or(0)) * engine::byte_size(info.type);
}

std::string shape_text(std::span<const engine::Dim> shape) {
  std::string text = "[";
  for (const engine::Dim dim : shape) text += format_text("{}{}", text.size() > 1 ? "," : "", dim);
  return text + "]";
}

Result<std::string> bytes_of_json(const Body& data, const TensorInfo& info) {
  if (info.type == DataType::kF16) {
    return fail(ErrorCode::kBadData, format_text("input \"{}\" is FP16: send it as binary data", info.name));
  }
  if (!data.is_array()) return fail(ErrorCode::kBadData, format_text("input \"{}\": data is no list", info.name));
  Reader reader{.info = info, .out = {}};
  reader.out.reserve(byte_count(info));
  if (!data.empty() && data.front().is_array() && !info.shape.empty()) {
    KINGLET_TRY(reader.nested(data, 0));
  } else {
    const std::size_t wanted = byte_count(info) / engine::byte_size(info.type);
    if (data.size() != wanted) return reader.wrong_count(data.size(), wanted);
    KINGLET_TRY(reader.values(data));
  }
  return std::move(reader.out);
}

Json json_of_bytes(std::span<const std::byte> bytes, DataType type) {
  const std::size_t count = bytes.size() / engine::byte_size(type);
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    switch (type) {
      case DataType::kF32:
        list.push_back(shortest(at<float>(bytes, i)));
        break;
      case DataType::kF16:
        list.push_back(number_at(bytes, type, i));
        break;
      case DataType::kBool:
        list.push_back(at<std::uint8_t>(bytes, i) != 0);
        break;
      case DataType::kI64:
        list.push_back(at<std::int64_t>(bytes, i));
        break;
      default:
        list.push_back(static_cast<std::int64_t>(number_at(bytes, type, i)));
    }
  }
  return list;
}

std::vector<std::byte> to_memory(std::span<const std::byte> from, const TensorInfo& info) {
  std::vector<std::byte> memory(from.size());
  copy_turned(from, info, memory, [](std::size_t file, std::size_t place) { return std::pair(file, place); });
  if (!info.held) return memory;
  std::vector<std::byte> levels(memory.size() / sizeof(float));
  engine::make_levels({reinterpret_cast<const float*>(memory.data()), levels.size()}, *info.held, levels);
  return levels;
}

void to_file_order(std::span<const std::byte> from, const TensorInfo& info, std::span<std::byte> to) {
  copy_turned(from, info, to, [](std::size_t file, std::size_t memory) { return std::pair(memory, file); });
}

std::vector<std::string> classes(std::span<const std::byte> bytes, DataType type, std::size_t k,
                                 const std::vector<std::string>& labels) {
  const std::size_t count = bytes.size() / engine::byte_size(type);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  // What is not a number comes last.
  const auto value = [&](std::size_t i) {
    const double number = number_at(bytes, type, i);
    return std::isnan(number) ? -std::numeric_limits<double>::infinity() : number;
  };
  k = std::min(k, count);
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(k), [&](std::size_t a, std::size_t b) {
    return value(a) != value(b) ? value(a) > value(b) : a < b;
  });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < k; ++i) {
    std::string text = format_text("{:.6f}:{}", number_at(bytes, type, order[i]), order[i]);
    if (labels.size() == count) text += ":" + labels[order[i]];
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::string> best_classes(std::span<const std::byte> values, DataType type,
                                      std::span<const std::byte> places, DataType places_type, std::size_t k,
                                      const std::vector<std::string>& labels) {
  const std::size_t count = places.size() / engine::byte_size(places_type);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(k, count); ++i) {
    const double place = number_at(places, places_type, i);
    std::string text = format_text("{:.6f}:{:.0f}", values.empty() ? 1 : number_at(values, type, i), place);
    if (place >= 0 && place < static_cast<double>(labels.size())) text += ":" + labels[static_cast<std::size_t>(place)];
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace kinglet::daemon::kserve
