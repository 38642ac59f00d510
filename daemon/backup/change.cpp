// SPDX-License-Identifier: Apache-2.0
#include "daemon/backup/change.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"

namespace kinglet::daemon::backup {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostPlanBytes = 1U << 20;
constexpr std::uint64_t kMostWorkBytes = 32;
constexpr auto kProvenAfter = std::chrono::hours(24);

fs::path restore_folder(const fs::path& state) { return state / "restore"; }
fs::path ready_folder(const fs::path& state) { return restore_folder(state) / "ready"; }
fs::path plan_file(const fs::path& folder) { return folder / "plan.json"; }

bool is_there(const fs::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

struct Plan {
  std::vector<PlanItem> items;
  std::string etc;    // files for this folder wait beside it; empty: none
  Arrived arrived{};  // for those who ask what waits
};

Json about(const Arrived& arrived) {
  Json left_out = Json::array();
  for (const auto& [key, why] : arrived.left_out) left_out.push_back({{"key", key}, {"why", why}});
  return {{"made_at", arrived.made_at},     {"version", arrived.version}, {"visits", arrived.visits},
          {"pictures", arrived.pictures},   {"models", arrived.models},   {"settings", arrived.settings},
          {"left_out", std::move(left_out)}};
}

// It is told and decides nothing: what is missing stays empty.
Arrived read_about(const Json& json) {
  Arrived arrived;
  if (!json.is_object()) return arrived;
  const auto text = [](const Json& object, const char* name) {
    const Json value = object.value(name, Json());
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  const auto count = [&](const char* name) {
    const Json value = json.value(name, Json());
    return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0U;
  };
  arrived.made_at = text(json, "made_at");
  arrived.version = text(json, "version");
  arrived.visits = count("visits");
  arrived.pictures = count("pictures");
  arrived.models = count("models");
  arrived.settings = count("settings");
  for (const Json& one : json.value("left_out", Json::array())) {
    if (one.is_object()) arrived.left_out.push_back({.key = text(one, "key"), .why = text(one, "why")});
  }
  return arrived;
}

Result<void> write_plan(const fs::path& folder, const Plan& plan) {
  Json items = Json::array();
  for (const PlanItem& item : plan.items) items.push_back({{"name", item.name}, {"has_new", item.has_new}});
  const Json json{{"items", std::move(items)}, {"etc", plan.etc}, {"about", about(plan.arrived)}};
  KINGLET_TRY(write_file(plan_file(folder), json.dump(1) + "\n", Overwrite::kReplace, Readers::kOwner));
  return sync_folder(folder);
}

Result<Plan> read_plan(const fs::path& folder) {
  const Json json = Json::parse(KINGLET_TRY(read_file(plan_file(folder), kMostPlanBytes)), nullptr, false);
  const auto bad = [&] { return fail(ErrorCode::kBadData, "is no plan of a restore", plan_file(folder).string()); };
  if (!json.is_object() || !json.value("items", Json()).is_array() || !json.value("etc", Json()).is_string())
    return bad();
  Plan plan{.items = {}, .etc = json["etc"].get<std::string>(), .arrived = read_about(json.value("about", Json()))};
  for (const Json& one : json["items"]) {
    if (!one.is_object() || !one.value("name", Json()).is_string() || !one.value("has_new", Json()).is_boolean()) {
      return bad();
    }
    PlanItem item{.name = one["name"].get<std::string>(), .has_new = one["has_new"].get<bool>()};
    // What stands in the folder itself, so that nothing on the way can lead elsewhere.
    const std::size_t slash = item.name.find('/');
    const std::string_view below = std::string_view(item.name).substr(slash == std::string::npos ? 0 : slash + 1);
    const bool known = item.name.starts_with("state/") || item.name.starts_with("models/");
    if (!known || below.empty() || below.contains('/') || below.starts_with('.')) return bad();
    plan.items.push_back(std::move(item));
  }
  return plan;
}

fs::path place_of(const Places& places, const std::string& name) {
  const std::size_t slash = name.find('/');
  return (name.starts_with("models/") ? places.models : places.state) / name.substr(slash + 1);
}

Result<void> make_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(ErrorCode::kCannotCreate, "cannot make the folder: " + errno_text(), folder.string());
  }
  return {};
}

// Models may lie on another disk: then a file is copied, and counts when it is whole.
Result<void> move_to(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  if (errno != EXDEV) return fail(ErrorCode::kIo, "cannot rename: " + errno_text(), from.string());
  const InputFile file = KINGLET_TRY(InputFile::open(from, Links::kRefuse));
  const auto copy = [&](const PutBytes& put) -> Result<void> {
    std::string bytes;
    for (std::uint64_t offset = 0; offset < file.size(); offset += bytes.size()) {
      bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(file.size() - offset, 1U << 20)));
      KINGLET_TRY(file.read_at(offset, std::as_writable_bytes(std::span(bytes))));
      KINGLET_TRY(put(bytes));
    }
    return {};
  };
  KINGLET_TRY(write_file(to, copy, Overwrite::kReplace));
  if (::unlink(from.c_str()) == 0) return {};
  return fail(ErrorCode::kIo, "cannot remove: " + errno_text(), from.string());
}

// Safe to be done again after any part of it.
Result<void> swap(const fs::path& fresh, bool has_new, const fs::path& place, const fs::path& old) {
  if (has_new && !is_there(fresh)) return {};  // it is at its place already
  if (is_there(place)) KINGLET_TRY(move_to(place, old));
  return has_new ? move_to(fresh, place) : Result<void>{};
}

Result<void> sync_all(const fs::path& folder) {
  const FileDescriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.valid() && ::syncfs(opened.get()) == 0) return {};
  return fail(ErrorCode::kIo, "cannot write: " + errno_text(), folder.string(), "check the disk");
}

// For what this restore replaces: what an earlier one replaced goes now, not where one waits that may be called off.
// What this one has put there before the power went stays.
Result<void> make_room(const fs::path& before, const fs::path& begun) {
  if (is_there(begun)) return {};
  std::error_code failed;
  fs::remove_all(before, failed);
  if (failed) return fail(ErrorCode::kIo, "cannot remove: " + failed.message(), before.string());
  KINGLET_TRY(sync_folder(before.parent_path()));
  KINGLET_TRY(write_file(begun, std::string_view(), Overwrite::kReplace, Readers::kOwner));
  return sync_folder(begun.parent_path());
}

Result<void> rename_folder(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    return fail(ErrorCode::kIo, "cannot rename: " + errno_text(), from.string());
  KINGLET_TRY(sync_folder(to.parent_path()));
  return sync_folder(from.parent_path());
}

}  // namespace

fs::path incoming_folder(const fs::path& state) { return restore_folder(state) / "incoming"; }
fs::path before_folder(const fs::path& state) { return state / "before-restore"; }
fs::path waiting_etc(const fs::path& etc) { return etc.string() + ".restore-new"; }

Result<FileDescriptor> hold_restores(const fs::path& state) {
  const fs::path restore = restore_folder(state);
  FileDescriptor lock(::open(restore.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!lock.valid()) return fail(ErrorCode::kIo, "cannot open the folder: " + errno_text(), restore.string());
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::kBusy, "another backup is being restored", restore.string(), "wait for its end");
  }
  return lock;
}

Result<void> commit(const Places& places, std::vector<PlanItem> items, const Arrived& arrived) {
  const bool with_etc = arrived.owners_files > 0;
  const fs::path incoming = incoming_folder(places.state);
  KINGLET_TRY(write_plan(incoming,
                         {.items = std::move(items), .etc = with_etc ? places.etc.string() : "", .arrived = arrived}));
  std::error_code failed;
  fs::remove_all(ready_folder(places.state), failed);  // one that was not taken up yet
  KINGLET_TRY(sync_all(places.state));
  if (with_etc) KINGLET_TRY(sync_all(places.etc.parent_path()));
  return rename_folder(incoming, ready_folder(places.state));
}

bool is_waiting(const fs::path& state) { return !state.empty() && is_there(plan_file(ready_folder(state))); }

std::optional<Arrived> waiting(const fs::path& state) {
  if (!is_waiting(state)) return std::nullopt;
  Result<Plan> plan = read_plan(ready_folder(state));
  return plan ? std::move(plan->arrived) : Arrived{};
}

Result<bool> call_off(const fs::path& state) {
  if (!is_waiting(state)) return false;
  const FileDescriptor held = KINGLET_TRY(hold_restores(state));
  if (!is_waiting(state)) return false;
  // In one step, as it came.
  const fs::path gone = restore_folder(state) / "called-off";
  std::error_code failed;
  fs::remove_all(gone, failed);
  KINGLET_TRY(rename_folder(ready_folder(state), gone));
  fs::remove_all(gone, failed);
  return true;
}

Result<bool> take_up(const Places& places) {
  if (!is_waiting(places.state)) return false;
  const fs::path ready = ready_folder(places.state);
  const fs::path before = before_folder(places.state);
  const Plan plan = KINGLET_TRY(read_plan(ready));
  if (!plan.etc.empty() && is_there(waiting_etc(plan.etc))) {
    return fail(ErrorCode::kBusy, "a restore was interrupted before all of it was in place", plan.etc,
                "give the same `kinglet restore` again, with sudo");
  }
  KINGLET_TRY(make_room(before, ready / "begun"));
  for (const fs::path& folder : {before, before / "state", before / "models"}) KINGLET_TRY(make_folder(folder));
  KINGLET_TRY(write_plan(before, {.items = plan.items, .etc = {}, .arrived = {}}));
  for (const PlanItem& item : plan.items) {
    KINGLET_TRY(swap(ready / item.name, item.has_new, place_of(places, item.name), before / item.name));
  }
  KINGLET_TRY(sync_all(places.state));
  // In one step: what is half removed would wait for ever.
  const fs::path done = restore_folder(places.state) / "done";
  std::error_code failed;
  fs::remove_all(done, failed);
  KINGLET_TRY(rename_folder(ready, done));
  fs::remove_all(restore_folder(places.state), failed);
  return true;
}

Result<void> take_up_etc(const fs::path& etc) {
  const fs::path old = etc.string() + ".before-restore";
  std::error_code failed;
  if (is_there(etc)) {
    fs::remove_all(old, failed);
    KINGLET_TRY(rename_folder(etc, old));
  }
  return rename_folder(waiting_etc(etc), etc);
}

Result<void> turn_back(const Places& places) {
  const fs::path before = before_folder(places.state);
  if (!is_there(plan_file(before))) {
    return fail(ErrorCode::kNotFound, "the state of before a restore is not kept", before.string(),
                "it goes when the new one has worked for a day");
  }
  Plan plan = KINGLET_TRY(read_plan(before));
  for (PlanItem& item : plan.items) item.has_new = is_there(before / item.name);
  KINGLET_TRY(write_plan(before, plan));
  KINGLET_TRY(make_folder(restore_folder(places.state)));
  std::error_code failed;
  fs::remove_all(ready_folder(places.state), failed);
  return rename_folder(before, ready_folder(places.state));
}

Result<bool> add_work(const fs::path& state, std::chrono::seconds worked) {
  if (state.empty() || !is_there(plan_file(before_folder(state)))) return false;
  const fs::path file = before_folder(state) / "seconds-of-work";
  // One that cannot be read begins anew: what was before is kept for longer.
  const std::string text = read_file(file, kMostWorkBytes).value_or("");
  worked += std::chrono::seconds(parse_number<std::uint32_t>(text).value_or(0));
  KINGLET_TRY(write_file(file, format_text("{}", worked.count()), Overwrite::kReplace, Readers::kOwner));
  return worked >= kProvenAfter;
}

void forget_before(const fs::path& state) {
  std::error_code failed;
  fs::remove_all(before_folder(state), failed);
}

}  // namespace kinglet::daemon::backup
