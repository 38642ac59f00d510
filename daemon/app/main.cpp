// SPDX-License-Identifier: Apache-2.0
// Why: the program kingletd: flags, signals, the status line, and the exit codes of the contract.
#include <malloc.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "config/config.h"
#include "daemon/app/app.h"
#include "daemon/app/integrations.h"
#include "daemon/app/restored.h"
#include "daemon/app/signals.h"
#include "daemon/machine/build_info.h"
#include "daemon/settings/settings_check.h"
#include "daemon/settings/settings_file.h"
#include "engine/base/clock.h"
#include "engine/base/format.h"
#include "engine/base/units.h"

namespace kinglet::daemon {
namespace {

// After a signal: whoever waits for it, a person or the service manager, does so for 3 s.
constexpr std::chrono::milliseconds kLongestEnd{2'600};

// The unit starts us again after this exit code, and takes it for a clean one.
constexpr int kStartAgain = 75;

struct Flags {
  config::LoadOptions load;
  bool check_config = false;
  bool forget = false;
  bool status = false;
  bool strict = false;
  std::optional<std::chrono::milliseconds> run_for;
};

int usage_error(const std::string& message, const std::string& hint) {
  std::fprintf(stderr, "kingletd: %s\nhint: %s\n", message.c_str(), hint.c_str());
  return exit_code(ErrorCode::kUsage);
}

// Fills `flags`, or gives the exit code with which to end.
std::optional<int> parse(int argc, char** argv, Flags& flags) {
  CLI::App cli("Watches the bird feeder: frames in, predictions out, over HTTP.", "kingletd");
  std::string file;
  std::string run_for;
  bool quiet = false;
  cli.add_option("--config", file, "this file instead of /etc/kinglet")->type_name("FILE");
  cli.add_option("--set", flags.load.assignments, "set a key, for example --set source=images:DIR (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  cli.add_flag("--check-config", flags.check_config, "check the configuration and end");
  cli.add_flag("--forget", flags.forget, "take back what the MQTT broker keeps of this device, and end");
  cli.add_option("--for", run_for, "end by itself after this time, for example 20s")->type_name("DURATION");
  CLI::Option* status =
      cli.add_flag("--status", flags.status, "a line a second: prediction, images per second, latency");
  cli.add_flag("--no-status", quiet, "no such line, also on a terminal")->excludes(status);
  cli.add_flag("--strict", flags.strict, "end with an error when the model or the camera cannot be had");
  const BuildInfo& info = build_info();
  cli.set_version_flag("--version",
                       format_text("kingletd {}{}{}", info.version, info.commit.empty() ? "" : " ", info.commit));
  try {
    cli.parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    return cli.exit(wanted);
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what(), "see kingletd --help");
  }
  if (!file.empty()) flags.load.file = file;
  if (!run_for.empty()) {
    const Result<std::chrono::milliseconds> duration = parse_duration(run_for);
    if (!duration) return usage_error("--for: " + describe(duration.error()), "for example --for 20s");
    flags.run_for = *duration;
  }
  if (!flags.status && !quiet) flags.status = isatty(STDERR_FILENO) != 0;
  flags.load.environment = config::process_environment();
  return std::nullopt;
}

struct Log {
  std::shared_ptr<spdlog::logger> logger;
  LogSink sink;

  void set_level(const std::string& level) const { logger->set_level(spdlog::level::from_str(level)); }
};

Log make_log(const std::string& level) {
  const auto logger = std::make_shared<spdlog::logger>("kingletd", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  // The journal has its own times and knows levels by the prefix <N> of sd-daemon(3).
  const bool journal = std::getenv("JOURNAL_STREAM") != nullptr;
  logger->set_pattern(journal ? "%v" : "%Y-%m-%dT%H:%M:%S.%e %l %v");
  LogSink sink = [logger, journal](LogLevel severity, std::string_view text) {
    constexpr std::array kLevels{spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err};
    constexpr std::array kPriorities{7, 6, 4, 3};
    const auto index = static_cast<std::size_t>(severity);
    logger->log(kLevels[index], journal ? format_text("<{}>{}", kPriorities[index], text) : std::string(text));
  };
  Log log{.logger = logger, .sink = std::move(sink)};
  log.set_level(level);
  return log;
}

// All of the new configuration that can change now, or nothing of it.
void reload(App& app, const Log& log) {
  const auto loaded = app.reload();
  const bool good = loaded.has_value();
  if (good) {
    for (const std::string& warning : loaded->warnings) log.sink(LogLevel::kWarning, warning);
  } else {
    for (const Error& fault : loaded.error()) log.sink(LogLevel::kError, describe(fault));
  }
  app.set_reload_failed(!good);
  log.sink(good ? LogLevel::kInfo : LogLevel::kError,
           good ? "configuration read again" : "the configuration cannot be taken up; the one before goes on");
}

// Until a signal ends it or the time is over.
void run(App& app, const Flags& flags, const Log& log, Signals& signals) {
  constexpr std::chrono::milliseconds kTurn{200};
  const SteadyTime start = SteadyClock::now();
  SteadyTime next_line = start + std::chrono::seconds(1);
  while (!flags.run_for || SteadyClock::now() - start < *flags.run_for) {
    const Signals::Heard heard = signals.wait(kTurn);
    if (heard == Signals::Heard::kEnd) return;
    if (heard == Signals::Heard::kReload) reload(app, log);
    if (app.restart_is_wanted()) return signals.end_with(kStartAgain);
    app.tend();
    if (flags.status && SteadyClock::now() >= next_line) {
      next_line += std::chrono::seconds(1);
      std::fprintf(stderr, "%s\n", app.status_line().c_str());
    }
  }
}

// Buffers of whole pictures go back to the system at once, not into a heap of each thread that serves one now and then.
void keep_memory_small() {
  // NOLINTBEGIN(concurrency-mt-unsafe): before any other thread
  mallopt(M_MMAP_THRESHOLD, 256 * 1024);
  mallopt(M_ARENA_MAX, 1);
  // NOLINTEND(concurrency-mt-unsafe)
}

int report(const Error& error) {
  std::fprintf(stderr, "kingletd: %s\n", describe(error).c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return exit_code(error.code);
}

int report(const config::Faults& faults) {
  std::fputs(config::report("kingletd", faults).c_str(), stderr);
  return config::exit_code(faults);
}

int check(const Flags& flags) {
  const auto loaded = load_settings(flags.load);
  if (!loaded) return report(loaded.error());
  std::puts("configuration: good");
  return 0;
}

// What was set over HTTP and cannot be used makes room; what is left is no reason not to start.
std::string settings_trouble(const Usable& usable) {
  if (usable.trouble.empty()) return {};
  if (!usable.loaded.left_out.empty()) {
    return format_text("of what was set on the page this does not count: {}; {}", usable.trouble,
                       keep_only(usable.folder, usable.loaded.settings));
  }
  return format_text("what was set on the page does not count: {}; {}", usable.trouble,
                     set_aside(settings_file(usable.folder)));
}

// Did the service manager start this very process, and not a shell that it started?
bool is_service() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
  const char* pid = std::getenv("SYSTEMD_EXEC_PID");
  return pid != nullptr && pid == std::to_string(getpid());
}

int main_of(int argc, char** argv) {
  keep_memory_small();
  Flags flags;
  if (const std::optional<int> ended = parse(argc, argv, flags)) return *ended;
  if (flags.check_config) return check(flags);
  auto usable = load_usable_settings(flags.load);
  if (!usable) return report(usable.error());
  if (flags.forget) {
    const Result<void> forgotten = forget_device(usable->loaded.config);
    return forgotten ? 0 : report(forgotten.error());
  }
  const Result<bool> restored = take_up_restore(*usable);
  if (!restored) return report(restored.error());
  if (*restored) usable = load_usable_settings(flags.load);
  if (!usable) return report(usable.error());
  const config::Loaded* loaded = &usable->loaded;
  std::signal(SIGPIPE, SIG_IGN);
  const Log log = make_log(loaded->config.log.level);
  for (const std::string& warning : loaded->warnings) log.sink(LogLevel::kWarning, warning);
  if (*restored)
    log.sink(LogLevel::kInfo, "this is the state of a backup that was restored; what was before is kept for a day");
  const std::string trouble = settings_trouble(*usable);
  if (!trouble.empty()) log.sink(LogLevel::kError, trouble);
  Signals signals(kLongestEnd, log.sink);  // before any other thread
  Result<std::unique_ptr<App>> app =
      App::start(loaded->config,
                 {.strict = flags.strict,
                  .origins = loaded->origins,
                  .load = flags.load,
                  .settings = loaded->settings,
                  .settings_trouble = trouble,
                  .set_log_level = [&](const std::string& level) { log.set_level(level); },
                  .has_manager = is_service(),
                  .opened = [&](std::vector<std::string> files) { signals.remove_at_end(std::move(files)); },
                  .started = [&] { signals.started(); },
                  .called_off = [&] { return signals.end_is_wanted(); },
                  .signals = &signals.pulse()},
                 log.sink);
  if (!app) return report(app.error());
  std::fprintf(stderr, "kingletd: open %s in a browser\n", (*app)->urls().front().c_str());
  run(**app, flags, log, signals);
  signals.begin_end();
  const bool all_ended = (*app)->stop([&](const char* step) { signals.note_step(step); });
  if (!all_ended) std::_Exit(signals.exit_code());
  app->reset();
  return signals.exit_code();
}

}  // namespace
}  // namespace kinglet::daemon

int main(int argc, char** argv) {
  try {
    return kinglet::daemon::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kingletd: unexpected exception: %s\n", error.what());
    return kinglet::exit_code(kinglet::ErrorCode::kInternal);
  }
}
