// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/packed_prediction.h"

#include <concepts>
#include <cstring>
#include <optional>
#include <type_traits>

namespace kinglet::daemon {
namespace {

// Integers as LEB128; those with a sign by protobuf's zigzag, so that both near zero are short.
class Writer {
 public:
  explicit Writer(std::byte* begin) : begin_(begin), at_(begin) {}
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }

  template <std::unsigned_integral T>
  void number(T value) {
    for (; value > 0x7F; value >>= 7) *at_++ = static_cast<std::byte>((value & 0x7F) | 0x80);
    *at_++ = static_cast<std::byte>(value);
  }
  template <std::signed_integral T>
  void number(T value) {
    using Folded = std::make_unsigned_t<T>;
    number(static_cast<Folded>((static_cast<Folded>(value) << 1) ^ static_cast<Folded>(value < 0 ? -1 : 0)));
  }
  template <typename T>
  void bytes(const T& value) {
    std::memcpy(at_, &value, sizeof(T));
    at_ += sizeof(T);
  }

 private:
  std::byte* begin_;
  std::byte* at_;
};

class Reader {
 public:
  explicit Reader(const std::byte* at) : at_(at) {}

  template <std::unsigned_integral T>
  void number(T& value) {
    value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = std::to_integer<T>(*at_++);
      value |= static_cast<T>(byte & 0x7F) << shift;
      if (byte <= 0x7F) return;
    }
  }
  template <std::signed_integral T>
  void number(T& value) {
    std::make_unsigned_t<T> folded = 0;
    number(folded);
    value = static_cast<T>((folded >> 1) ^ (0 - (folded & 1)));
  }
  template <typename T>
  void bytes(T& value) {
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
  }

 private:
  const std::byte* at_;
};

// What a prediction consists of, said once: a Writer is shown what is const, a Reader fills what is not.
template <typename T, typename... Kinds>
concept Is = (std::same_as<std::remove_const_t<T>, Kinds> || ...);

template <typename Step, typename... Fields>
void fields(Step& step, Fields&... values);

template <typename Step, typename T>
void field(Step& step, T& value) {
  if constexpr (std::is_enum_v<T> || std::is_floating_point_v<T> || Is<T, bool, Ulid>) {
    step.bytes(value);
  } else if constexpr (std::is_integral_v<T>) {
    step.number(value);
  } else if constexpr (Is<T, SteadyClock::duration>) {
    auto ticks = value.count();
    step.number(ticks);
    if constexpr (!std::is_const_v<T>) value = T(ticks);
  } else if constexpr (Is<T, WallTime>) {
    auto since = value.time_since_epoch();
    field(step, since);
    if constexpr (!std::is_const_v<T>) value = T(since);
  } else if constexpr (Is<T, Area>) {
    fields(step, value.left, value.top, value.width, value.height);
  } else if constexpr (Is<T, CropRect>) {
    fields(step, value.x, value.y, value.width, value.height);
  } else if constexpr (Is<T, Scored>) {
    fields(step, value.taxon, value.index, value.score);
  } else if constexpr (Is<T, Opinion>) {
    fields(step, value.being, value.score, value.label);
  } else if constexpr (Is<T, Refined>) {
    fields(step, value.merged, value.split, value.tightened);
  } else if constexpr (Is<T, StageTimes>) {
    fields(step, value.wait, value.preprocess, value.inference, value.postprocess);
  } else if constexpr (Is<T, DetectorWork>) {
    fields(step, value.looks, value.left_out, value.found, value.refined, value.time);
  } else if constexpr (Is<T, Answer>) {
    fields(step, value.outcome, value.unusual, value.taxon, value.score, value.count);
    for (std::size_t i = 0; i < value.count; ++i) field(step, value.entries[i]);
  } else if constexpr (Is<T, RegionLook>) {
    fields(step, value.track, value.box, value.crop, value.proposed_by, value.outcome, value.opinion, value.visit,
           value.best_of_visit, value.best_unnamed, value.count);
    for (std::size_t i = 0; i < value.count; ++i) field(step, value.entries[i]);
  } else if constexpr (Is<T, Prediction>) {
    fields(step, value.id, value.seq, value.at, value.clock_synced, value.frame_seq, value.camera, value.drawn,
           value.age, value.answer, value.crop, value.left_out, value.detector, value.timing, value.visit, value.model,
           value.region_count);
    for (std::size_t i = 0; i < value.region_count; ++i) field(step, value.regions[i]);
  } else if constexpr (requires { value.has_value(); }) {
    bool has = value.has_value();
    step.bytes(has);
    if constexpr (!std::is_const_v<T>) has ? void(value.emplace()) : value.reset();
    if (has) field(step, *value);
  } else {
    for (auto& one : value) field(step, one);
  }
}

template <typename Step, typename... Fields>
void fields(Step& step, Fields&... values) {
  (field(step, values), ...);
}

}  // namespace

std::size_t pack(const Prediction& prediction, std::span<std::byte, kMostPacked> to) {
  Writer writer(to.data());
  field(writer, prediction);
  return writer.size();
}

void unpack(const std::byte* from, Prediction& prediction) {
  prediction = {};
  Reader reader(from);
  field(reader, prediction);
}

}  // namespace kinglet::daemon
