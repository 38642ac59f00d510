// SPDX-License-Identifier: Apache-2.0
#include "store/database/pending.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kinglet::store {
namespace {

bool is_ended(const PendingVisit& entry) { return entry.row.visit.state == visits::VisitState::kEnded; }

PictureSizes sizes_of(const Pictures& pictures, PictureSizes sizes) {
  if (!pictures.crop.empty()) sizes.crop = pictures.crop.size();
  if (!pictures.frame.empty()) sizes.frame = pictures.frame.size();
  if (!pictures.clip.empty()) sizes.clip = pictures.clip.size();
  return sizes;
}

struct KindMembers {
  SharedBytes Pictures::* bytes;
  std::optional<std::uint64_t> PictureSizes::* size;
};
// The least valuable first.
constexpr std::array<KindMembers, 3> kVictims{{{&Pictures::clip, &PictureSizes::clip},
                                               {&Pictures::frame, &PictureSizes::frame},
                                               {&Pictures::crop, &PictureSizes::crop}}};

}  // namespace

const SharedBytes& bytes_of(const Pictures& pictures, Picture kind) {
  return kind == Picture::kCrop ? pictures.crop : kind == Picture::kFrame ? pictures.frame : pictures.clip;
}

const std::optional<std::uint64_t>& size_of(const PictureSizes& sizes, Picture kind) {
  return kind == Picture::kCrop ? sizes.crop : kind == Picture::kFrame ? sizes.frame : sizes.clip;
}

void Pending::replace(std::uint64_t seq, const std::function<void(PendingVisit&)>& change) {
  const auto found = entries_.find(seq);
  if (found == entries_.end()) return;
  auto entry = std::make_shared<PendingVisit>(*found->second);
  if (entry->pictures) picture_bytes_ -= entry->pictures->total();
  change(*entry);
  if (entry->pictures) picture_bytes_ += entry->pictures->total();
  entry->version = ++version_;
  found->second = std::move(entry);
}

std::uint64_t Pending::put(VisitRow row) {
  MutexLock lock(mutex_);
  const std::uint64_t seq = row.visit.seq;
  entries_.try_emplace(seq, std::make_shared<PendingVisit>());
  replace(seq, [&](PendingVisit& entry) {
    if (entry.reviewed) row.visit.review = entry.row.visit.review;
    row.pictures = entry.row.pictures;
    entry.row = std::move(row);
  });
  return shrink_visits();
}

std::uint64_t Pending::put_stored(VisitRow row) {
  MutexLock lock(mutex_);
  auto entry = std::make_shared<PendingVisit>();
  entry->row = std::move(row);
  entry->stored = true;
  entry->version = ++version_;
  entries_.try_emplace(entry->row.visit.seq, entry);
  return shrink_visits();
}

std::uint64_t Pending::add_pictures(std::uint64_t seq, Pictures pictures) {
  MutexLock lock(mutex_);
  if (!entries_.contains(seq)) return 1;
  replace(seq, [&](PendingVisit& entry) {
    entry.row.pictures = sizes_of(pictures, entry.row.pictures);
    entry.pictures = std::make_shared<const Pictures>(std::move(pictures));
  });
  return shrink_pictures();
}

void Pending::review(std::uint64_t seq, const visits::Review& review, std::uint64_t change) {
  MutexLock lock(mutex_);
  replace(seq, [&](PendingVisit& entry) {
    entry.row.visit.review = review;
    entry.row.change = change;
    entry.reviewed = true;
  });
}

void Pending::remove(std::uint64_t seq) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(seq);
  if (found == entries_.end()) return;
  if (found->second->pictures) picture_bytes_ -= found->second->pictures->total();
  entries_.erase(found);
  ++version_;
}

void Pending::written(const std::vector<Entry>& entries) {
  MutexLock lock(mutex_);
  for (const Entry& entry : entries) {
    const std::uint64_t seq = entry->row.visit.seq;
    const auto found = entries_.find(seq);
    if (found == entries_.end()) continue;
    if (found->second->version == entry->version && is_ended(*entry)) {
      if (entry->pictures) picture_bytes_ -= entry->pictures->total();
      entries_.erase(found);
    } else {
      replace(seq, [&](PendingVisit& held) {
        held.stored = true;
        if (held.pictures == entry->pictures) held.pictures.reset();
      });
    }
  }
  ++version_;
}

void Pending::rows_written(const std::vector<Entry>& entries) {
  MutexLock lock(mutex_);
  for (const Entry& entry : entries) {
    const auto found = entries_.find(entry->row.visit.seq);
    if (found == entries_.end()) continue;
    auto held = std::make_shared<PendingVisit>(*found->second);  // what it shows is the same, and so is its version
    held->stored = true;
    found->second = std::move(held);
  }
}

void Pending::forget_stored() {
  MutexLock lock(mutex_);
  for (auto& [seq, entry] : entries_) {
    auto held = std::make_shared<PendingVisit>(*entry);
    held->stored = false;
    entry = std::move(held);
  }
}

void Pending::renumber(std::uint64_t offset) {
  MutexLock lock(mutex_);
  std::map<std::uint64_t, Entry> moved;
  for (const auto& [seq, entry] : entries_) {
    auto copy = std::make_shared<PendingVisit>(*entry);
    copy->row.visit.seq = seq + offset;
    copy->version = ++version_;
    moved.emplace(seq + offset, std::move(copy));
  }
  entries_ = std::move(moved);
}

std::vector<Pending::Entry> Pending::all() const {
  MutexLock lock(mutex_);
  std::vector<Entry> list;
  list.reserve(entries_.size());
  for (const auto& [seq, entry] : entries_) list.push_back(entry);
  return list;
}

std::vector<Pending::Entry> Pending::ended() const {
  std::vector<Entry> list = all();
  std::erase_if(list, [](const Entry& entry) { return !is_ended(*entry); });
  return list;
}

Pending::Entry Pending::find(std::string_view id) const {
  MutexLock lock(mutex_);
  for (const auto& [seq, entry] : entries_) {
    if (entry->row.visit.id == id) return entry;
  }
  return nullptr;
}

std::optional<std::string> Pending::prediction(std::string_view id) const {
  MutexLock lock(mutex_);
  for (const auto& [seq, entry] : entries_) {
    for (const visits::KeptPrediction& prediction : entry->row.visit.predictions) {
      if (prediction.id == id && prediction.answer) return prediction.answer();
    }
  }
  return std::nullopt;
}

bool Pending::contains(std::uint64_t seq) const {
  MutexLock lock(mutex_);
  return entries_.contains(seq);
}

std::size_t Pending::size() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

std::uint64_t Pending::shrink_pictures() {
  std::uint64_t forgotten = 0;
  for (const KindMembers& kind : kVictims) {
    for (const auto& [seq, entry] : entries_) {
      if (picture_bytes_ <= limits_.picture_bytes) return forgotten;
      if (!entry->pictures || ((*entry->pictures).*kind.bytes).empty()) continue;
      ++forgotten;
      replace(seq, [&](PendingVisit& changed) {
        Pictures fewer = *changed.pictures;
        fewer.*kind.bytes = {};
        (changed.row.pictures.*kind.size).reset();
        changed.pictures = std::make_shared<const Pictures>(std::move(fewer));
      });
    }
  }
  return forgotten;
}

std::uint64_t Pending::shrink_visits() {
  std::uint64_t forgotten = 0;
  while (entries_.size() > limits_.visits) {
    const auto unreviewed = [](const auto& item) { return is_ended(*item.second) && !item.second->reviewed; };
    auto victim = std::ranges::find_if(entries_, unreviewed);
    if (victim == entries_.end()) victim = entries_.begin();
    if (victim->second->pictures) picture_bytes_ -= victim->second->pictures->total();
    entries_.erase(victim);
    ++version_;
    ++forgotten;
  }
  return forgotten;
}

}  // namespace kinglet::store
