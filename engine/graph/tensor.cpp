// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/tensor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>

#include "engine/graph/float16.h"

namespace kinglet::engine {

namespace {

// From here on memory comes from the system alone and goes back to it at once; a heap would keep what lies below
// something else, and write to what it gives again. No sanitizer looks at such memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kLeastMapped = std::numeric_limits<std::size_t>::max();
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::size_t kLeastMapped = std::numeric_limits<std::size_t>::max();
#else
constexpr std::size_t kLeastMapped = std::size_t{256} << 10;
#endif
#else
constexpr std::size_t kLeastMapped = std::size_t{256} << 10;
#endif

// Of processors with pages of 4 KiB. Where those are larger the next size is 32 MiB and more, and a buffer that uses
// some of the last one would take all of it.
constexpr std::size_t kHugePage = std::size_t{2} << 20;
bool has_huge_pages() { return ::sysconf(_SC_PAGESIZE) == 4096; }

}  // namespace

TensorBuffer::TensorBuffer(std::size_t byte_count) : size_(byte_count) {
  // Nothing is written to the pages of a large tensor before its numbers are: they are zero already.
  const std::size_t readable = byte_count + kReadableSlack;
  const bool is_mapped = readable + kAlignment >= kLeastMapped;
  const bool is_huge = is_mapped && readable >= kHugePage && has_huge_pages();
  const std::size_t alignment = is_huge ? kHugePage : kAlignment;
  std::size_t space = readable + alignment;
  if (is_mapped) {
    void* mapped = ::mmap(nullptr, space, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    memory_ = std::unique_ptr<void, Free>(mapped, Free(space));
  } else {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory,cppcoreguidelines-no-malloc)
    memory_.reset(std::calloc(space, 1));
  }
  if (!memory_) throw std::bad_alloc();
  void* aligned = memory_.get();
  data_ = static_cast<std::byte*>(std::align(alignment, readable, aligned, space));
  // Whole pages of it alone: what lies around would come with the last one. A system without such pages says no.
  if (is_huge) (void)::madvise(data_, readable / kHugePage * kHugePage, MADV_HUGEPAGE);
}

void TensorBuffer::Free::operator()(void* memory) const {
  if (mapped > 0) {
    ::munmap(memory, mapped);
  } else {
    std::free(memory);  // NOLINT(cppcoreguidelines-owning-memory,cppcoreguidelines-no-malloc): the deleter of memory_
  }
}

struct Tensor::Numbers {
  explicit Numbers(std::size_t byte_count) : memory(byte_count) {}

  [[nodiscard]] std::byte* asked_for() {
    if (is_later.load(std::memory_order_acquire)) [[unlikely]]
      come();
    return memory.data();
  }
  void come() {
    const std::scoped_lock lock(mutex);
    if (!is_later.load(std::memory_order_relaxed)) return;
    const std::span all(memory.data(), memory.size());
    if (!fill(0, all)) std::ranges::fill(all, std::byte{0});
    fill = nullptr;
    is_later.store(false, std::memory_order_release);
  }

  TensorBuffer memory;
  std::atomic<bool> is_later = false;
  std::mutex mutex;  // of fill
  Fill fill;
  bool makes_pieces = false;
};

Tensor::Tensor(DataType type, Shape shape) : type_(type), shape_(std::move(shape)) {
  const std::optional<std::int64_t> count = engine::element_count(shape_);
  KINGLET_CHECK(count.has_value());
  count_ = *count;
  numbers_ = std::make_shared<Numbers>(byte_count());
}

Tensor Tensor::later(DataType type, Shape shape, Fill fill, Pieces pieces) {
  Tensor tensor(type, std::move(shape));
  tensor.numbers_->fill = std::move(fill);
  tensor.numbers_->makes_pieces = pieces == Pieces::kAny;
  tensor.numbers_->is_later = true;
  return tensor;
}

std::span<const std::byte> Tensor::bytes() const {
  if (!numbers_) return {};
  return {numbers_->asked_for() + offset_, byte_count()};
}

bool Tensor::is_later() const { return numbers_ && numbers_->is_later.load(std::memory_order_acquire); }

const void* Tensor::place() const { return numbers_ ? numbers_->memory.data() + offset_ : nullptr; }

void Tensor::copy_piece(std::size_t first, std::span<std::byte> to) const {
  KINGLET_CHECK(first <= byte_count() && to.size() <= byte_count() - first);
  if (to.empty()) return;
  if (numbers_->is_later.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(numbers_->mutex);
    if (numbers_->fill && numbers_->makes_pieces) {
      if (!numbers_->fill(offset_ + first, to)) std::ranges::fill(to, std::byte{0});
      return;
    }
  }
  std::memcpy(to.data(), bytes().data() + first, to.size());
}

std::span<std::byte> Tensor::mutable_bytes() {
  if (!numbers_) return {};
  if (numbers_.use_count() > 1) {
    auto copy = std::make_shared<Numbers>(byte_count());
    std::memcpy(copy->memory.data(), bytes().data(), byte_count());
    numbers_ = std::move(copy);
    offset_ = 0;
  }
  return {numbers_->asked_for() + offset_, byte_count()};
}

Tensor Tensor::reshaped(Shape shape) const {
  KINGLET_CHECK(engine::element_count(shape) == count_);
  Tensor tensor = *this;
  tensor.shape_ = std::move(shape);
  return tensor;
}

Tensor Tensor::rows(Dim first, Dim count) const {
  KINGLET_CHECK(!shape_.empty() && first >= 0 && count >= 0 && first + count <= shape_[0] && shape_[0] > 0);
  const std::int64_t row = count_ / shape_[0];
  Tensor tensor = *this;
  tensor.shape_[0] = count;
  tensor.count_ = count * row;
  tensor.offset_ += static_cast<std::size_t>(first * row) * byte_size(type_);
  return tensor;
}

std::vector<std::int64_t> Tensor::to_int64s() const {
  if (type_ == DataType::kI32) {
    const auto values = data<std::int32_t>();
    return {values.begin(), values.end()};
  }
  const auto values = data<std::int64_t>();
  return {values.begin(), values.end()};
}

std::vector<float> Tensor::to_floats() const {
  if (type_ == DataType::kF16) {
    std::vector<float> out;
    out.reserve(static_cast<std::size_t>(count_));
    for (const Half value : data<Half>()) out.push_back(to_float(value));
    return out;
  }
  const auto values = data<float>();
  return {values.begin(), values.end()};
}

bool Tensor::bit_equal(const Tensor& other) const {
  return type_ == other.type_ && shape_ == other.shape_ &&
         (byte_count() == 0 || place() == other.place() ||
          std::memcmp(bytes().data(), other.bytes().data(), byte_count()) == 0);
}

}  // namespace kinglet::engine
