// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/xnnpack/packing.h"

#include <limits>
#include <utility>

namespace kinglet::engine::xnn {
namespace {

constexpr std::size_t kNotFound = std::numeric_limits<std::size_t>::max();

// Offsets are addresses: pieces may lie anywhere.
std::size_t offset_of(const void* piece) { return reinterpret_cast<std::size_t>(piece); }
void* address_of(void* /*context*/, std::size_t offset) {
  return reinterpret_cast<void*>(offset);  // NOLINT(performance-no-int-to-ptr): made by offset_of
}

}  // namespace

Packing::Packing(PackedWeights& weights, std::vector<LateFilter> filters)
    : weights_(&weights), others_(packed_in_memory()) {
  for (LateFilter& filter : filters) {
    const void* place = filter.numbers.place();
    filters_.emplace(place, std::move(filter));
  }
  provider_ = {
      .context = this,
      .look_up = [](void* self,
                    const xnn_weights_cache_look_up_key* key) { return static_cast<Packing*>(self)->look_up(*key); },
      .reserve_space = [](void* self, std::size_t bytes) { return static_cast<Packing*>(self)->reserve(bytes); },
      .look_up_or_insert = [](void* self, const xnn_weights_cache_look_up_key* key, void* packed,
                              std::size_t bytes) { return static_cast<Packing*>(self)->insert(*key, packed, bytes); },
      .is_finalized = [](void*) { return true; },
      .offset_to_addr = address_of,
      .delete_cache = [](void*) { return xnn_status_success; }};
}

std::size_t Packing::look_up(const xnn_weights_cache_look_up_key& key) {
  asked_ = nullptr;
  const auto filter = filters_.find(key.kernel);
  if (filter == filters_.end()) return kNotFound;
  if (const auto found = weights_->find(key.seed, filter->second.least_bytes)) {
    found_ = found->data();
    found_bytes_ = found->size();
    filters_.erase(filter);
    return offset_of(found_);
  }
  asked_ = key.kernel;
  (void)filter->second.numbers.bytes();  // XNNPACK reads them next
  return kNotFound;
}

void* Packing::reserve(std::size_t bytes) { return (asked_ != nullptr ? *weights_ : *others_).room(bytes).data(); }

std::size_t Packing::insert(const xnn_weights_cache_look_up_key& key, void* packed, std::size_t bytes) {
  if (packed == nullptr) {
    if (found_bytes_ != bytes) weights_->mismatch();
    return offset_of(found_);
  }
  const void* asked = std::exchange(asked_, nullptr);
  const auto filter = filters_.find(key.kernel);
  if (asked != key.kernel || filter == filters_.end()) {
    if (asked != nullptr || (filter != filters_.end() && filter->second.numbers.is_later())) in_turn_ = false;
    return offset_of(packed);
  }
  filters_.erase(filter);
  return offset_of(weights_->keep(key.seed, {static_cast<const std::byte*>(packed), bytes}));
}

}  // namespace kinglet::engine::xnn
