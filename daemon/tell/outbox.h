// SPDX-License-Identifier: Apache-2.0
// Why: what waits for a listener that is away: the newest messages, and how many events it will never hear of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

namespace kinglet::daemon {

// `Message` has a member `missed`, not 0 in one that says how many were left out, and `is_on_its_way()`: nobody can say
// whether it was heard. Neither of the two is ever left out. Thread-bound.
template <typename Message>
class Outbox {
 public:
  explicit Outbox(std::size_t most) : most_(most) {}

  // In order. Of too many it gives the oldest, which is left out and counted in missed(). The new one is not on its
  // way.
  std::optional<Message> push(Message message) {
    messages_.push_back(std::move(message));
    if (size() <= most_) return {};
    const auto oldest =
        std::ranges::find_if(messages_, [](const Message& one) { return one.missed == 0 && !one.is_on_its_way(); });
    std::optional<Message> left_out(std::move(*oldest));
    messages_.erase(oldest);
    ++missed_;
    return left_out;
  }

  // So many events never came here at all.
  void miss(std::uint64_t events) { missed_ += events; }
  [[nodiscard]] std::uint64_t missed() const { return missed_; }
  [[nodiscard]] std::uint64_t take_missed() { return std::exchange(missed_, 0); }
  // What says so goes first.
  void push_gap(Message gap) { messages_.push_front(std::move(gap)); }
  [[nodiscard]] bool begins_with_gap() const { return !messages_.empty() && messages_.front().missed > 0; }

  [[nodiscard]] std::size_t size() const { return messages_.size() - (begins_with_gap() ? 1 : 0); }  // without the gap
  [[nodiscard]] std::deque<Message>& messages() { return messages_; }
  [[nodiscard]] const std::deque<Message>& messages() const { return messages_; }

 private:
  std::size_t most_;
  std::deque<Message> messages_;
  std::uint64_t missed_ = 0;  // events that were left out, and nobody was told
};

}  // namespace kinglet::daemon
