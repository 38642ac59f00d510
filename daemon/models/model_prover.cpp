// SPDX-License-Identifier: Apache-2.0
#include "daemon/models/model_prover.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "camera/process/process.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestAnswer = 65'536;
constexpr std::size_t kMostDataFiles = 1024;
constexpr std::size_t kLongestValueName = 255;
constexpr std::size_t kLongestText = 1000;
constexpr std::size_t kLongestDigest = 100;
constexpr std::uint64_t kMostClasses = 100'000'000;
constexpr std::chrono::milliseconds kTurn{50};
constexpr std::string_view kRetry = "try again when the board has less to do";

std::string tool_program(const std::string& wish) {
  if (!wish.empty()) return wish;
  std::error_code failed;
  const fs::path beside = fs::read_symlink("/proc/self/exe", failed).parent_path() / "kinglet";
  std::string program = failed ? std::string() : camera::find_command(beside.string());
  return program.empty() ? camera::find_command("kinglet") : program;
}

std::vector<std::string> arguments_of(const LineModelOptions& options) {
  std::vector<std::string> words{"--threads=" + std::to_string(options.threads)};
  const auto add = [&](const char* option, const fs::path& path) {
    if (!path.empty()) words.push_back(option + path.string());
  };
  add("--labels=", options.labels);
  add("--recipe=", options.recipe);
  add("--species=", options.tables.species);
  add("--names=", options.tables.names);
  if (!options.output.empty()) words.push_back("--scores=" + options.output);
  words.insert(words.end(), {"--", options.model.string()});
  return words;
}

std::vector<std::string> command_of(const char* action, const ProofLimits& limits, std::vector<std::string> more) {
  std::vector<std::string> words{"models", action, "--owner=" + std::to_string(::getpid()),
                                 "--memory=" + std::to_string(limits.memory_bytes),
                                 "--seconds=" + std::to_string(limits.cpu.count())};
  std::ranges::move(more, std::back_inserter(words));
  return words;
}

// What the child says, whole or as far as it may be long.
class Answer {
 public:
  static Result<std::pair<Answer, FileDescriptor>> open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      return fail(ErrorCode::kUnavailable, "cannot make a pipe: " + errno_text());
    Answer answer;
    answer.reader_ = FileDescriptor(ends[0]);
    FileDescriptor writer(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return std::pair(std::move(answer), std::move(writer));
  }

  // Returns when something came or at the end of a turn.
  void wait() {
    pollfd waiting{open_ ? reader_.get() : -1, POLLIN, 0};
    ::poll(&waiting, 1, static_cast<int>(kTurn.count()));
    read();
  }
  void read() {
    std::array<char, 4096> bytes;
    while (open_ && !too_long()) {
      const ssize_t length = ::read(reader_.get(), bytes.data(), bytes.size());
      if (length < 0 && errno == EINTR) continue;
      if (length < 0) return;
      open_ = length > 0;
      text_.append(bytes.data(), static_cast<std::size_t>(length));
    }
  }
  [[nodiscard]] bool too_long() const { return text_.size() > kLongestAnswer; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  FileDescriptor reader_;
  bool open_ = true;
  std::string text_;
};

// Until the child has ended; what it said.
Result<std::string> listen(camera::ChildProcess& child, Answer& answer, const ProofLimits& limits,
                           const std::stop_token& stop) {
  const SteadyTime deadline = SteadyClock::now() + limits.wall;
  while (!child.wait(SteadyClock::now())) {
    if (stop.stop_requested()) return fail(ErrorCode::kUnavailable, "its check was called off");
    if (SteadyClock::now() >= deadline) {
      return fail(ErrorCode::kUnavailable,
                  format_text("loading and running it took longer than {:.0f} s", to_ms(limits.wall).count() / 1000),
                  {}, std::string(kRetry));
    }
    if (answer.too_long()) return fail(ErrorCode::kBadData, "the process that checked it says more than an answer has");
    answer.wait();
    child.forward_output();
  }
  answer.read();
  child.forward_output();
  if (child.end_text() == "exit code 0") return answer.text();
  // Killed for the board's sake, or at the end of its processor time.
  for (const int signal : {SIGKILL, SIGXCPU}) {
    if (!child.end_text().starts_with(format_text("signal {} ", signal))) continue;
    return fail(
        ErrorCode::kUnavailable,
        format_text("loading and running it was ended by the system, short of memory or time: {}", child.end_text()),
        {}, std::string(kRetry));
  }
  const std::string last = child.last_line();
  return fail(ErrorCode::kBadData,
              format_text("loading and running it ended the process that did so: {}{}{}", child.end_text(),
                          last.empty() ? "" : ": ", last),
              {}, "`kinglet models check` repeats that; another export of the model may be better");
}

ErrorCode code_of(std::string_view name) {
  constexpr std::array kOfModels{ErrorCode::kBadData,     ErrorCode::kUnsupported,  ErrorCode::kNotFound,
                                 ErrorCode::kUnavailable, ErrorCode::kNotPermitted, ErrorCode::kConfig,
                                 ErrorCode::kIo};
  const auto found = std::ranges::find(kOfModels, name, [](ErrorCode code) { return to_string(code); });
  return found == kOfModels.end() ? ErrorCode::kBadData : *found;
}

std::unexpected<Error> nonsense() {
  return fail(ErrorCode::kBadData, "the process that checked it says nothing sensible");
}

// Nothing of what a process says that a stranger's file may have taken over is trusted.
Result<Json> parse(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("valid") || !json["valid"].is_boolean()) return nonsense();
  const auto said = [&](const char* member) {
    return json.contains(member) && json[member].is_string() ? printable(json[member].get<std::string>(), kLongestText)
                                                             : std::string();
  };
  if (!json["valid"].get<bool>()) return fail(code_of(said("code")), said("message"), said("where"), said("hint"));
  return json;
}

Result<Proof> proof_of(const Json& json) {
  const Json names = json.value("data_files", Json());
  if (!json.contains("classes") || !json["classes"].is_number_unsigned() || !names.is_array() ||
      names.size() > kMostDataFiles) {
    return nonsense();
  }
  const auto says = [&](const char* member) {
    return json.contains(member) && json[member].is_boolean() && json[member].get<bool>();
  };
  const Json source = json.value("source", Json(""));
  if (!source.is_string() || source.get<std::string>().size() > kLongestDigest) return nonsense();
  Proof proof{.digest = {},
              .source = source.get<std::string>(),
              .labels_named = says("labels_named"),
              .recipe_found = says("recipe_found"),
              .data_files = {},
              .stamp = {}};
  const auto classes = json["classes"].get<std::uint64_t>();
  if (classes < 1 || classes > kMostClasses) return nonsense();
  proof.classes = static_cast<std::size_t>(classes);
  for (const Json& name : names) {
    if (!name.is_string() || name.get<std::string>().size() > kLongestValueName) return nonsense();
    proof.data_files.push_back(name.get<std::string>());
  }
  return proof;
}

Result<Json> ask_child(const ProverOptions& options, std::vector<std::string> arguments, const std::stop_token& stop) {
  const std::string program = tool_program(options.program);
  if (program.empty()) {
    return fail(ErrorCode::kUnavailable, "the program kinglet, which checks models, is not there", {},
                "install it beside kingletd");
  }
  auto [answer, writer] = KINGLET_TRY(Answer::open());
  const std::unique_ptr<camera::ChildProcess> child = KINGLET_TRY(camera::ChildProcess::start(
      {.program = program, .arguments = std::move(arguments), .standard_output = writer.get(), .log = {}}));
  writer.reset();
  return parse(KINGLET_TRY(listen(*child, answer, options.limits, stop)));
}

// Memory that is not there must not end the daemon.
Result<LineModel> open_within_memory(const LineModelOptions& options) {
  try {
    return LineModel::open(options);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kUnavailable, "there is not enough memory to load it here", options.model.string(),
                "beside a model that answers it needs more than after a restart with it in model.path");
  }
}

}  // namespace

ProofLimits limits_of_this_board() {
  constexpr std::uint64_t kMiB = 1U << 20;
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  const std::uint64_t memory = static_cast<std::uint64_t>(std::max(pages, 0L)) * static_cast<std::uint64_t>(page);
  return {.memory_bytes = std::clamp(memory / 2, 256 * kMiB, 4096 * kMiB)};
}

ModelProver::ModelProver(ProverOptions options) : options_(std::move(options)), proofs_(options_.state_folder) {}

Result<Proof> ModelProver::prove(const LineModelOptions& options, const std::stop_token& stop) {
  if (std::optional<Proof> known = proofs_.find(options)) return *known;
  const std::string before = stamp_of(KINGLET_TRY(files_read(options, {})));
  Result<Proof> proof =
      ask_child(options_, command_of("prove", options_.limits, arguments_of(options)), stop).and_then(proof_of);
  if (!proof) {
    Error error = proof.error();
    if (error.where.empty()) error.where = options.model.string();
    return std::unexpected(std::move(error));
  }
  return proofs_.note(options, before, std::move(*proof));
}

Result<bool> ModelProver::adopt(const fs::path& from, const fs::path& to, const std::string& digest,
                                const std::stop_token& stop) const {
  const Json answer = KINGLET_TRY(ask_child(
      options_,
      command_of("adopt", options_.limits, {"--to=" + to.string(), "--source=" + digest, "--", from.string()}), stop));
  if (!answer.contains("written") || !answer["written"].is_boolean()) return nonsense();
  return answer["written"].get<bool>();
}

Result<LineModel> ModelProver::open(const LineModelOptions& options, const std::stop_token& stop) {
  if (options.demonstration) return open_within_memory(options);
  const Proof proof = KINGLET_TRY(prove(options, stop));
  LineModelOptions proven = options;
  proven.digest = proof.digest;
  proven.stamp = model_stamp(proof.stamp);
  Result<LineModel> classifier = open_within_memory(proven);
  if (stamp_of(KINGLET_TRY(files_read(options, proof.data_files))) != proof.stamp) {
    return fail(ErrorCode::kUnavailable, "its files changed while it was loaded", options.model.string(), "try again");
  }
  return classifier;
}

}  // namespace kinglet::daemon
