// SPDX-License-Identifier: Apache-2.0
// Why: the configuration as the API shows and changes it; who reads files and knows keys hands it over in this form.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/plain_value.h"

namespace kinglet::daemon::http {

struct Setting {
  std::string key;                    // "decide.min_score"
  PlainValue value;                   // in force
  std::string source;                 // "default", "FILE:LINE", "KINGLET_X", "--set"
  std::string reload;                 // "live", "pipeline", "restart", "none"
  std::optional<PlainValue> waiting;  // the value that counts from the next start on; nothing: the same
  std::string help;
  std::string kind;          // "number", "text_list" and so on
  std::string unit;          // may be empty
  PlainValue default_value;  // as the table of keys has it: "auto" is not resolved
  std::optional<std::pair<double, double>> range;
  std::vector<std::string> choices;
  bool settable = false;  // over HTTP
};

// A key with its value over HTTP; nothing: taken back, or none.
struct SettingValue {
  std::string key;
  std::optional<PlainValue> value;
};

struct SettingsWish {
  std::vector<SettingValue> values;
  std::string by;                       // who wishes it, for the log and the history
  std::function<bool()> still_as_seen;  // asked when it is this wish's turn; empty: does not matter
};

struct SettingsRefusal {
  enum class Why : std::uint8_t {
    kStale,          // still_as_seen() said no
    kSetInFile,      // what stands in the owner's file, a variable or --set counts more
    kWrong,          // what the start would refuse
    kNothingToUndo,  // it is as it was at first, as far as is known
    kNotKept,        // the disk does not take it, or there is none
  };
  Why why = Why::kWrong;
  std::vector<Error> faults;  // "KEY = VALUE: ..." where one key is at fault
};

struct SettingsChange {
  std::string at;  // RFC 3339
  std::string by;
  struct Part {
    std::string key;
    std::optional<PlainValue> before;  // over HTTP; nothing: it was not set there
    std::optional<PlainValue> after;
  };
  std::vector<Part> parts;
};

// Who keeps what is set over HTTP. Thread-safe; one change at a time.
class SettingsDesk {
 public:
  virtual ~SettingsDesk() = default;

  [[nodiscard]] virtual std::vector<Setting> list() const = 0;  // all keys, in their order
  struct State {
    std::string file;                // where they are kept; empty: nowhere, and nothing can be set
    std::vector<SettingValue> kept;  // by key
    std::size_t steps_back = 0;      // how often undo() can be asked
    std::string trouble;             // why what was set did not count at the start; empty: it did
  };
  [[nodiscard]] virtual State state() const = 0;
  // All of the wish, at once, or nothing of it.
  [[nodiscard]] virtual std::expected<void, SettingsRefusal> change(const SettingsWish& wish) = 0;
  // As it was before the newest change; wish.values do not matter.
  [[nodiscard]] virtual std::expected<void, SettingsRefusal> undo(const SettingsWish& wish) = 0;
  [[nodiscard]] virtual std::vector<SettingsChange> history() const = 0;  // newest first
};

// The value of this key as anybody may see it: without logins in addresses (all other secrets are in files of their
// own), and of a webhook's address the path is a secret as well.
[[nodiscard]] PlainValue shown_value(std::string_view key, PlainValue value);

}  // namespace kinglet::daemon::http
