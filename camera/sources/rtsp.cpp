// SPDX-License-Identifier: Apache-2.0
// Why: "rtsp://HOST/PATH": a network camera's stream, read and decoded by ffmpeg: raw frames of the size and rate asked
// for come through its output. Without a path the camera says itself, at each start, where its smaller one is. The
// login goes through a pipe, in a script of its concat demuxer (https://ffmpeg.org/ffmpeg-formats.html#concat-1):
// arguments and environment of a program are everybody's to read.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <optional>
#include <utility>

#include "camera/sources/network_camera.h"
#include "camera/stream/address.h"
#include "camera/stream/child_stream.h"
#include "camera/stream/stream_source.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

// Cameras that save bits send a picture that stands for itself every few seconds only.
constexpr std::chrono::seconds kFirstPicture{20};
// ffmpeg gives up a camera that says nothing for so long, and says so.
constexpr std::chrono::seconds kSilence{8};
// What ffmpeg's RTSP keeps of a login (libavformat/rtsp.h, RTSPState::auth), escaped, without the end of the text.
constexpr std::size_t kLongestLogin = 127;
constexpr std::size_t kLongestAddress = 1000;
// Asking a camera where its streams are, all together; most answer within a second.
constexpr std::chrono::seconds kAsking{12};
constexpr std::chrono::milliseconds kSearch{1500};

enum class Transport { kTcp, kUdp };

struct Camera {
  std::string address;
  Transport transport = Transport::kTcp;
  std::optional<StreamWish> wish;  // where somebody said one
};

// Of "rtsp://camera:8554/live?x=1": "camera", ":8554" and "/live?x=1".
struct Parts {
  std::string host;
  std::string port;
  std::string path;
};
Parts parts_of(const std::string& address) {
  const std::string behind = address.substr(address.find("://") + 3);
  const std::size_t path = std::min(behind.find_first_of("/?"), behind.size());
  const std::size_t bracket = std::min(behind.find(']'), path);  // of IPv6
  const std::size_t port = std::min(behind.find(':', bracket == path ? 0 : bracket), path);
  return {.host = behind.substr(0, port), .port = behind.substr(port, path - port), .path = behind.substr(path)};
}
bool has_path(const std::string& address) { return parts_of(address).path.size() > 1; }

// What a camera says of its port counts less than what its owner wrote.
std::string at_port(const std::string& address, const std::string& port) {
  const Parts parts = parts_of(address);
  return format_text("rtsp://{}{}{}", parts.host, port.empty() ? parts.port : port, parts.path);
}

// RFC 3986, 2.1: all but the unreserved characters.
std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kKept = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string out;
  for (const char c : text) {
    out += kKept.contains(c) ? std::string(1, c) : format_text("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

// ffmpeg's way to write any text (https://ffmpeg.org/ffmpeg-utils.html#Quoting-and-escaping).
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Result<std::string> address_with(const std::string& address, const Login& login) {
  if (login.user.empty()) return address;
  const std::string escaped = percent_encoded(login.user) + ":" + percent_encoded(login.password);
  if (escaped.size() > kLongestLogin) {
    return fail(ErrorCode::kConfig, format_text("the login of {} is longer than ffmpeg takes", shown_address(address)),
                {}, format_text("{} characters, where all but letters and digits count three", kLongestLogin));
  }
  const std::size_t host = address.find("://") + 3;
  return address.substr(0, host) + escaped + "@" + address.substr(host);
}

// What stands for a login there where it is remembered that it was refused.
std::size_t number_of(const Login& login, const std::string& address) {
  return std::hash<std::string>{}(login.user + ":" + login.password + "@" + address);
}

Result<std::string> script_of(const std::string& address, Transport transport, const Login& login) {
  return format_text("file {}\noption rtsp_transport {}\noption allowed_media_types video\noption timeout {}\n",
                     in_quotes(KINGLET_TRY(address_with(address, login))), transport == Transport::kTcp ? "tcp" : "udp",
                     std::chrono::microseconds(kSilence).count());
}

// The reading end of a pipe that holds the text, and then its end.
Result<FileDescriptor> pipe_with(const std::string& text) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(ErrorCode::kUnavailable, "no descriptor left for ffmpeg");
  FileDescriptor reader(ends[0]);
  const FileDescriptor writer(ends[1]);
  ::fcntl(writer.get(), F_SETFL, O_NONBLOCK);  // the pipe is larger than any script
  if (::write(writer.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return reader;
  return fail(ErrorCode::kUnavailable, "cannot tell ffmpeg its camera: " + errno_text());
}

// One frame at most in each 1/rate of a second, none twice, whatever the camera's clock does; then the size, smaller
// where the camera's is larger, with square pixels and even sides.
std::string filters(int width, int height, double rate) {
  std::string text;
  if (rate > 0) text = format_text("select='not(eq(floor(t*{0}),floor(prev_selected_t*{0})))',", rate);
  const std::string share = format_text("min(1,min({}/(iw*sar),{}/ih))", width, height);
  return text + format_text(
                    "setpts=N/({1}*TB),scale=w='max(2,2*trunc(iw*sar*{0}/2))':h='max(2,2*trunc(ih*{0}/2))',"
                    "setsar=1",
                    share, rate > 0 ? rate : 25.0);
}

// What ffmpeg says of a camera that it cannot read, as a person wants to hear it.
struct Trouble {
  std::string_view words;
  std::string_view message;
  std::string_view hint;
};
constexpr std::string_view kWrongLogin = "does not take the login of source.login_file";
// ffmpeg has the same words for a camera that says nothing until it is given up as for one that says something else.
constexpr std::string_view kNoRtsp = "does not speak RTSP";
constexpr Trouble kNoAnswer{{}, "does not answer", "is the camera on, and in the same network?"};
constexpr Trouble kNoLogin{{}, "wants a login", "source.login_file names a file with a line user:password"};
constexpr Trouble kRefused{"returned 401 Unauthorized", kWrongLogin,
                           "is its line user:password right? Another one counts at once; this one is tried again after "
                           "minutes only, since cameras lock out who goes on"};
constexpr Trouble kTroubles[] = {
    kRefused,
    {"returned 403 Forbidden", kWrongLogin, "may this user of the camera watch?"},
    {"returned 404 Not Found", "has nothing at this path", "docs/sources.md has the paths of several makers"},
    {"failed: Connection refused", "lets nobody in", "is RTSP switched on in the camera, and the port right?"},
    {"Failed to resolve hostname", "is not known by this name", "its address in numbers needs no names"},
    {"Connection timed out", "does not answer", "is the camera on, and in the same network?"},
    {"failed: No route to host", "cannot be reached", "is the camera on, and in the same network?"},
    {"failed: Network is unreachable", "cannot be reached", "has this machine a network?"},
    {"returned 461", "does not send over TCP", "write #transport=udp behind the address"},
    {"Error opening input files: Invalid data", kNoRtsp, "are host and port those of its RTSP?"},
    {"does not contain any stream", "sends no video", "docs/sources.md has the paths of several makers"},
    {"matches no streams", "sends no video", "docs/sources.md has the paths of several makers"},
};

// Where a stream was found.
struct Choice {
  std::string address;
  std::string trouble = {};  // why the camera did not say it itself; empty: it did, or was not asked
};

// Who is let in, where that is remembered.
struct Entry {
  std::size_t login = 0;
  std::shared_ptr<ChosenCamera> memory;  // empty: without a login, or by nobody
};

// ffmpeg's frames; when it ends, what the camera did. Its words go to the log.
class FfmpegStream final : public ByteStream {
 public:
  // Of the source's thread, once and before read(). kUnavailable: no ffmpeg, or closed meanwhile.
  Result<void> begin(ChildStreamOptions options, const Choice& choice, Entry entry, bool has_login) {
    subject_ = "camera " + shown_address(choice.address);
    secret_ = secret_end(choice.address);
    trouble_ = choice.trouble;
    entry_ = std::move(entry);
    has_login_ = has_login;
    opened_ = SteadyClock::now();
    options.log = [sink = std::move(options.log), seen = seen_, secret = secret_](LogLevel level,
                                                                                  std::string_view text) {
      const std::string line = without_secret(std::string(text), secret);
      if (!line.contains("Impossible to open")) note(*seen, line);
      if (sink) sink(level == LogLevel::kInfo ? LogLevel::kDebug : level, line);
    };
    std::shared_ptr<ChildStream> child = KINGLET_TRY(ChildStream::open(options));
    const MutexLock lock(mutex_);
    if (closed_) return fail(ErrorCode::kUnavailable, subject_ + " was let go of");
    child_ = std::move(child);
    return {};
  }

  Result<std::size_t> read(std::span<std::byte> out, SteadyTime deadline) override {
    const std::shared_ptr<ChildStream> child = current();
    Result<std::size_t> got = child->read(out, deadline);
    if (got) {
      if (*got > 0 && entry_.memory) std::exchange(entry_.memory, nullptr)->stream_login.taken();
      return got;
    }
    Error error{ErrorCode::kUnavailable, {}, {}, {}};
    if (const Trouble* trouble = seen_->load()) {
      if (trouble->message == kWrongLogin && entry_.memory)
        entry_.memory->stream_login.refused(entry_.login, SteadyClock::now());
      if (trouble->message == kWrongLogin && !has_login_) trouble = &kNoLogin;
      if (trouble->message == kNoRtsp && SteadyClock::now() - opened_ >= kSilence) trouble = &kNoAnswer;
      error.message = format_text("{} {}", subject_, trouble->message);
      error.hint = trouble->hint;
    } else if (child->ended_well()) {
      error.message = subject_ + " ended the stream";
    } else {
      error.message = format_text("{}: {}", subject_, without_secret(got.error().message, secret_));
    }
    if (!trouble_.empty()) error.message += "; asked by ONVIF: " + trouble_;
    return std::unexpected(std::move(error));
  }

  void close() override {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
    }
    if (const auto child = current()) child->close();
  }

  [[nodiscard]] bool is_closed() const {
    const MutexLock lock(mutex_);
    return closed_;
  }

 private:
  using Seen = std::atomic<const Trouble*>;

  [[nodiscard]] std::shared_ptr<ChildStream> current() const {
    const MutexLock lock(mutex_);
    return child_;
  }

  // Cameras that take a login there exist.
  static std::string without_secret(std::string line, const std::string& secret) {
    const std::size_t place = secret.empty() ? std::string::npos : line.find(secret);
    return place == std::string::npos ? line : line.replace(place, secret.size(), secret[0] == '?' ? "?***" : "***");
  }

  static void note(Seen& seen, std::string_view line) {
    for (const Trouble& trouble : kTroubles) {
      const Trouble* none = nullptr;
      if (line.contains(trouble.words)) seen.compare_exchange_strong(none, &trouble);
    }
  }

  std::string subject_;
  std::string secret_;
  std::string trouble_;
  Entry entry_;
  bool has_login_ = false;
  SteadyTime opened_{};
  const std::shared_ptr<Seen> seen_ = std::make_shared<Seen>(nullptr);

  mutable Mutex mutex_;
  bool closed_ KINGLET_GUARDED_BY(mutex_) = false;
  std::shared_ptr<ChildStream> child_ KINGLET_GUARDED_BY(mutex_);
};

bool is_to_ask(const Camera& camera, const SourceOptions& options) {
  return !has_path(camera.address) && (camera.wish || !options.login_file.empty());
}

class RtspSource final : public StreamSource {
 public:
  RtspSource(Camera camera, const SourceOptions& options)
      : StreamSource(options.log, pause_of(options),
                     kFirstPicture + (is_to_ask(camera, options) ? kAsking : kAsking.zero())),
        asks_(is_to_ask(camera, options)),
        camera_(std::move(camera)),
        login_file_(options.login_file),
        wished_program_(options.ffmpeg_program),
        told_(options.chosen_camera),
        filters_(filters(options.width, options.height, options.frames_per_second)) {}

  [[nodiscard]] std::string description() const override { return subject() + " via ffmpeg"; }

 protected:
  Result<std::unique_ptr<ByteStream>> open_stream() override {
    taken_ = camera_.address;
    program_ = find_program("ffmpeg", wished_program_, "KINGLET_FFMPEG_PROGRAM");
    if (program_.empty()) {
      return fail(ErrorCode::kUnavailable, "ffmpeg, which reads rtsp: for kinglet, is not installed", {},
                  "apt install ffmpeg");
    }
    return std::make_unique<FfmpegStream>();
  }

  Result<std::unique_ptr<StreamParser>> open_parser(ByteStream& stream, SteadyTime /*deadline*/) override {
    auto& ffmpeg = static_cast<FfmpegStream&>(stream);
    Login login;
    if (!login_file_.empty()) login = KINGLET_TRY(read_login(login_file_));
    Entry entry;
    if (!login.user.empty()) entry = {.login = number_of(login, camera_.address), .memory = told_};
    if (entry.memory && entry.memory->stream_login.rests(entry.login, SteadyClock::now()))
      return fail(ErrorCode::kUnavailable, format_text("{} {}", subject(), kRefused.message), {},
                  std::string(kRefused.hint));
    const Choice choice = asks_ ? choose(login, entry, ffmpeg) : as_written();
    const std::string script = KINGLET_TRY(script_of(choice.address, camera_.transport, login));
    const FileDescriptor told = KINGLET_TRY(pipe_with(script));
    KINGLET_TRY(ffmpeg.begin({.program = program_, .arguments = arguments(), .inherited = told.get(), .log = log()},
                             choice, std::move(entry), !login.user.empty()));
    taken_ = choice.address;
    return make_y4m_parser({});
  }

  [[nodiscard]] std::string subject() const override { return "camera " + shown_address(taken_); }

 private:
  // Asks the camera itself; one that does not answer has its stream where its maker has it, or where it was written.
  Choice choose(const Login& login, const Entry& entry, const FfmpegStream& stream) {
    const Parts written = parts_of(camera_.address);
    const StreamWish wish = camera_.wish.value_or(StreamWish::kSmaller);
    const bool rests = entry.memory && entry.memory->onvif_login.rests(entry.login, SteadyClock::now());
    const CameraAnswer answer =
        ask_camera({.host = written.host,
                    .login = login,
                    .login_rests = rests,
                    .wish = wish,
                    .search = {.patience = kSearch, .interface = {}, .only = {}, .called_off = {}},
                    .patience = kAsking,
                    .called_off = [&stream] { return stream.is_closed(); }});
    if (entry.memory && !rests) note(answer, entry);
    if (answer.stream) {
      const OnvifStream& said = *answer.stream;
      const std::string address = at_port(said.address, written.port);
      tell(LogLevel::kInfo, format_text("takes {}, {}", shown_address(address), words_of(said, wish)));
      return {.address = address};
    }
    const std::string known = answer.camera ? answer.camera->stream(wish) : std::string();
    const std::string address = known.empty() ? camera_.address : at_port(known, written.port);
    const Choice choice{.address = address, .trouble = describe(answer.stream.error())};
    if (!stream.is_closed()) {
      tell(LogLevel::kWarning,
           format_text("does not say by ONVIF where its streams are ({}): takes {}, {}", choice.trouble,
                       shown_address(address), known.empty() ? "as it was written" : "where its maker has it"));
    }
    return choice;
  }

  static void note(const CameraAnswer& answer, const Entry& entry) {
    if (answer.stream) return entry.memory->onvif_login.taken();
    if (answer.stream.error().code == ErrorCode::kNotPermitted)
      entry.memory->onvif_login.refused(entry.login, SteadyClock::now());
  }

  Choice as_written() {
    const std::string_view smaller = smaller_path(parts_of(camera_.address).path);
    if (!smaller.empty()) {
      tell(LogLevel::kInfo, format_text("may have a smaller stream at {}, which costs less to decode", smaller));
    }
    return {.address = camera_.address};
  }

  // Once, not again with each start.
  void tell(LogLevel level, std::string_view what) const {
    const std::string line = format_text("camera {} {}", shown_address(camera_.address), what);
    const auto before = told_ ? told_->choice(camera_.address) : std::nullopt;
    if (log()) log()(before && before->id == line ? LogLevel::kDebug : level, line);
    if (told_) told_->remember({.wish = camera_.address, .id = line, .model = {}});
  }

  // The list of protocols is for what the camera answers as well: it can make ffmpeg open nothing else.
  [[nodiscard]] std::vector<std::string> arguments() const {
    const std::string protocols =
        format_text("pipe,rtsp,rtp,tcp{}", camera_.transport == Transport::kUdp ? ",udp" : "");
    return {"-nostdin", "-hide_banner", "-loglevel",   "error",    "-protocol_whitelist",
            protocols,  "-f",           "concat",      "-safe",    "0",
            "-i",       "pipe:3",       "-map",        "0:v:0",    "-vf",
            filters_,   "-fps_mode",    "passthrough", "-pix_fmt", "yuv420p",
            "-f",       "yuv4mpegpipe", "pipe:1"};
  }

  const bool asks_;
  const Camera camera_;
  const std::string login_file_;
  const std::string wished_program_;
  const std::shared_ptr<ChosenCamera> told_;  // what was said of it last
  const std::string filters_;
  std::string program_;
  std::string taken_ = camera_.address;  // at this start
};

Result<Camera> parse_camera(std::string_view rest) {
  constexpr std::string_view kProtocols[] = {"rtsp://"};
  constexpr std::string_view kKnown[] = {"transport", "stream"};
  const std::string text = "rtsp:" + std::string(rest);
  AddressSpec spec = KINGLET_TRY(parse_address(
      {.scheme = "rtsp", .protocols = kProtocols, .example = "rtsp://HOST or rtsp://HOST/PATH"}, text, kKnown));
  if (spec.address.size() > kLongestAddress) {
    return fail(ErrorCode::kUsage, format_text("rtsp: an address of more than {} characters", kLongestAddress));
  }
  Camera camera{.address = std::move(spec.address)};
  for (const auto& [key, value] : spec.options) {
    const bool is_stream = key == "stream";
    const std::array<std::string_view, 2> words = {is_stream ? "sub" : "tcp", is_stream ? "main" : "udp"};
    if (!std::ranges::contains(words, value)) {
      return fail(ErrorCode::kUsage,
                  format_text("rtsp: {} \"{}\", expected {} or {}", key, printable(value, 40), words[0], words[1]));
    }
    if (value == "udp") camera.transport = Transport::kUdp;
    if (is_stream) camera.wish = value == "main" ? StreamWish::kLargest : StreamWish::kSmaller;
  }
  if (!camera.wish || !has_path(camera.address)) return camera;
  return fail(ErrorCode::kUsage, "rtsp: #stream= is for an address without a path: this one says which stream",
              shown_address(camera.address), "write rtsp://HOST#stream=main, or the path alone");
}

}  // namespace

Result<std::unique_ptr<FrameSource>> open_rtsp(std::string_view rest, const SourceOptions& options) {
  return std::make_unique<RtspSource>(KINGLET_TRY(parse_camera(rest)), options);
}

}  // namespace kinglet::camera
