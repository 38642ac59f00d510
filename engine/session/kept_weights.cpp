// SPDX-License-Identifier: Apache-2.0
#include "engine/session/kept_weights.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "engine/base/format.h"
#include "engine/session/model.h"

namespace kinglet::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".packed";
constexpr std::size_t kNameDigits = 32;
constexpr std::size_t kReadAtOnce = std::size_t{256} << 10;

constexpr std::uint64_t kBegin = KeptHeader::kBegin;

std::uint64_t aligned(std::uint64_t offset) {
  constexpr std::uint64_t kTo = PackedWeights::kAlignment;
  return (offset + kTo - 1) / kTo * kTo;
}

bool read_at(int fd, std::uint64_t offset, std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t got = ::pread(fd, to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to = to.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

// A part of a mapped file is in memory: what a disk cannot give is an error here, and would be a signal to who reads
// it.
bool is_brought(int fd, std::uint64_t offset, std::span<const std::byte> part) {
  const std::uint64_t before = offset % static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  void* page = const_cast<std::byte*>(part.data() - before);
  if (::madvise(page, part.size() + before, MADV_POPULATE_READ) == 0) return true;
  if (errno != EINVAL) return false;
  std::vector<std::byte> copy(part.size());  // a Linux before 5.14
  return read_at(fd, offset, copy);
}

// Reads all of them once. Not by several threads: where others keep the cores busy that takes longer.
bool all_whole(int fd, const Mapping& memory, const std::vector<KeptPiece>& pieces) {
  for (const KeptPiece& piece : pieces) {
    KeptSumming summing;
    for (std::uint64_t done = 0; done < piece.bytes; done += kReadAtOnce) {
      const std::uint64_t offset = piece.offset + done;
      const std::span part(memory.data() + offset, std::min<std::uint64_t>(piece.bytes - done, kReadAtOnce));
      if (!is_brought(fd, offset, part)) return false;
      summing.add(part);
    }
    if (summing.result() != piece.sum) return false;
  }
  return true;
}

std::unexpected<Error> damaged(const KeptFile& kept, std::string_view what) {
  return fail(ErrorCode::kBadData, format_text("is no file of packed weights that fits: {}", what),
              kept.path().string());
}

// The pieces, each behind the one before it.
Result<std::vector<KeptPiece>> read_index(const KeptFile& kept, int fd, const KeptHeader& header, std::uint64_t size) {
  std::vector<KeptPiece> pieces(header.pieces);
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(pieces));
  if (header.index != size - bytes.size() || !read_at(fd, header.index, bytes) ||
      kept_sum_of(bytes) != header.index_sum)
    return damaged(kept, "its list of pieces");
  std::uint64_t end = kBegin;
  for (const KeptPiece& piece : pieces) {
    if (piece.offset < end || piece.offset != aligned(piece.offset) || piece.offset > header.index ||
        piece.bytes == 0 || piece.bytes > header.index - piece.offset)
      return damaged(kept, "the place of a piece");
    end = piece.offset + piece.bytes;
  }
  if (header.index - end < PackedWeights::kAlignment) return damaged(kept, "the place of the list");
  return pieces;
}

bool is_nearly_full(int fd, std::uint64_t more) {
  struct statvfs disk{};
  return ::fstatvfs(fd, &disk) == 0 && disk.f_bavail * disk.f_frsize < more + KeptFile::kLeastFree;
}

std::string link_to(const FileDescriptor& fd) { return format_text("/proc/self/fd/{}", fd.get()); }

}  // namespace

// --- The folder ------------------------------------------------------------------------------------------------------

KeptFile::KeptFile(const fs::path& folder, const std::string& key, std::uint64_t most_bytes, std::size_t most_pieces)
    : digest_(text_digest(key)), most_bytes_(most_bytes), most_pieces_(most_pieces) {
  path_ = folder / (digest_.substr(digest_.find(':') + 1, kNameDigits) + std::string(kEnding));
}

void KeptFile::remove() const { ::unlink(path_.c_str()); }
void KeptFile::touch() const { ::utimensat(AT_FDCWD, path_.c_str(), nullptr, AT_SYMLINK_NOFOLLOW); }

std::vector<KeptFile::Neighbour> KeptFile::neighbours() const {
  std::vector<Neighbour> found;
  std::error_code failed;
  for (fs::directory_iterator entry(path_.parent_path(), failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code ignored;
    if (!entry->path().filename().string().contains(kEnding)) continue;  // not ours
    if (fs::is_symlink(entry->path(), ignored) || !fs::is_regular_file(entry->path(), ignored)) continue;
    found.push_back(
        {.path = entry->path(), .time = entry->last_write_time(ignored), .bytes = entry->file_size(ignored)});
  }
  return found;
}

void KeptFile::remove_abandoned() const {
  for (const Neighbour& file : neighbours()) {
    if (file.is_whole()) continue;
    const FileDescriptor fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (fd.valid() && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(file.path.c_str());
  }
}

void KeptFile::make_room() const {
  std::vector<Neighbour> found = neighbours();
  std::erase_if(found, [](const Neighbour& file) { return !file.is_whole(); });
  std::ranges::sort(found, std::ranges::greater(), &Neighbour::time);
  std::uint64_t bytes = 0;
  std::size_t files = 0;
  for (const Neighbour& file : found) {
    bytes += file.bytes;
    if (file.path != path_ && (bytes > most_bytes_ || ++files >= kMostFiles)) ::unlink(file.path.c_str());
  }
}

bool KeptFile::Neighbour::is_whole() const { return path.native().ends_with(kEnding); }

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), bytes_);
}

bool Mapping::map(int fd, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return false;
  data_ = static_cast<const std::byte*>(memory);
  bytes_ = bytes;
  return true;
}

// --- Found -----------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<FoundWeights>> FoundWeights::open(const KeptFile& kept) {
  const FileDescriptor fd(::open(kept.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) return fail(ErrorCode::kNotFound, "cannot open the file: " + errno_text(), kept.path().string());
  return read(fd, kept);
}

Result<std::unique_ptr<FoundWeights>> FoundWeights::read(const FileDescriptor& fd, const KeptFile& kept) {
  struct stat status{};
  const bool ours = ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (!ours || size < kBegin || size > kept.most_bytes()) return damaged(kept, "its owner or its size");
  KeptHeader header;
  KeptHeader expected(kept.digest());
  if (!read_at(fd.get(), 0, std::as_writable_bytes(std::span(&header, 1)))) return damaged(kept, "it cannot be read");
  expected.pieces = header.pieces;
  expected.index = header.index;
  expected.index_sum = header.index_sum;
  expected.sum = expected.own_sum();
  if (header != expected || header.pieces > kept.most_pieces() || header.pieces * sizeof(KeptPiece) > size)
    return damaged(kept, "its head");
  std::unique_ptr<FoundWeights> found(new FoundWeights());
  found->pieces_ = KINGLET_TRY(read_index(kept, fd.get(), header, size));
  if (!found->memory_.map(fd.get(), size)) return fail(ErrorCode::kUnavailable, "cannot map it: " + errno_text());
  if (!all_whole(fd.get(), found->memory_, found->pieces_))
    return damaged(kept, "its numbers are not those that were written");
  found->bytes_ = size;
  return found;
}

std::optional<std::span<const std::byte>> FoundWeights::find(std::uint64_t maker, std::size_t least) {
  if (next_ == pieces_.size() || pieces_[next_].maker != maker || pieces_[next_].bytes < least) fits_ = false;
  if (!fits_) return std::nullopt;
  const KeptPiece& piece = pieces_[next_++];
  return std::span(memory_.data() + piece.offset, piece.bytes);
}

const std::byte* FoundWeights::keep(std::uint64_t maker, std::span<const std::byte> piece) {
  fits_ = false;
  return others_->keep(maker, piece);
}

// --- Written ---------------------------------------------------------------------------------------------------------

WrittenWeights::WrittenWeights(const KeptFile& kept, Unfinished unfinished) : kept_(kept), end_(kBegin) {
  std::error_code failed;
  fs::create_directory(kept.path().parent_path(), failed);
  kept.remove_abandoned();
  if (unfinished == Unfinished::kNameless) make_nameless();
  while (!fd_.valid() && make_named() == Made::kTakenAway) {
  }
  if (!fd_.valid()) {
    give_up("cannot create it: " + errno_text());
  } else if (!memory_.map(fd_.get(), kept.most_bytes())) {
    give_up("cannot map it: " + errno_text());
  }
}

WrittenWeights::~WrittenWeights() { discard(); }

// Of a process that is killed nothing is left.
void WrittenWeights::make_nameless() {
  fd_ = FileDescriptor(::open(kept_.path().parent_path().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
  struct stat status{};
  if (!fd_.valid()) return;
  if (::fstat(fd_.get(), &status) != 0 || ::access(link_to(fd_).c_str(), F_OK) != 0) return fd_.reset();
  // The number is its own as long as it exists: no other one that is left here has this name.
  temporary_ = format_text("{}.{}", kept_.path().string(), status.st_ino);
  (void)::flock(fd_.get(), LOCK_EX | LOCK_NB);  // for when it has a name
}

// Where the file system has no files without names. Others may take it for abandoned until it is locked.
WrittenWeights::Made WrittenWeights::make_named() {
  temporary_ = kept_.path().string() + ".XXXXXX";
  FileDescriptor fd(::mkostemp(temporary_.data(), O_CLOEXEC));
  if (!fd.valid()) return Made::kNot;
  struct stat status{};
  if (::flock(fd.get(), LOCK_EX) == 0 && ::fstat(fd.get(), &status) == 0 && status.st_nlink == 0)
    return Made::kTakenAway;
  fd_ = std::move(fd);
  has_name_ = true;
  return Made::kDone;
}

void WrittenWeights::discard() {
  if (has_name_) ::unlink(temporary_.c_str());
  has_name_ = false;
}

bool WrittenWeights::publish() {
  if (!has_name_)
    has_name_ = ::linkat(AT_FDCWD, link_to(fd_).c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) == 0;
  if (!has_name_ || ::rename(temporary_.c_str(), kept_.path().c_str()) != 0) return false;
  has_name_ = false;
  return true;
}

void WrittenWeights::give_up(std::string why) {
  if (!failure_) failure_ = std::move(why);
}

bool WrittenWeights::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return true;
}

std::span<std::byte> WrittenWeights::room(std::size_t bytes) {
  if (failure_) return others_->room(bytes);
  if (room_.size() < bytes) room_ = TensorBuffer(bytes);
  return {room_.data(), bytes};
}

const std::byte* WrittenWeights::keep(std::uint64_t maker, std::span<const std::byte> piece) {
  if (piece.data() != room_.data()) return others_->keep(maker, piece);
  const std::uint64_t offset = aligned(end_);
  const std::uint64_t list = 2 * kAlignment + (pieces_.size() + 1) * sizeof(KeptPiece);  // as finish() places it
  if (pieces_.size() >= kept_.most_pieces()) {
    give_up(format_text("its weights are more than {} pieces", kept_.most_pieces()));
  } else if (offset + piece.size() + list > kept_.most_bytes()) {
    give_up(format_text("its weights take more than the {} MB that the folder may have", kept_.most_bytes() >> 20));
  } else if (is_nearly_full(fd_.get(), piece.size())) {
    give_up(format_text("the disk would have less than {} MB left", KeptFile::kLeastFree >> 20));
  } else if (!write_at(offset, piece)) {
    give_up("cannot write it: " + errno_text());
  } else {
    pieces_.push_back({.maker = maker, .offset = offset, .bytes = piece.size(), .sum = kept_sum_of(piece)});
    end_ = offset + piece.size();
    return memory_.data() + offset;
  }
  const std::span<std::byte> instead = others_->room(piece.size());
  std::ranges::copy(piece, instead.begin());
  room_ = TensorBuffer();
  return others_->keep(maker, instead);
}

Result<void> WrittenWeights::finish() {
  room_ = TensorBuffer();
  if (pieces_.empty() && !failure_) return {};  // nothing that would be found
  KeptHeader header(kept_.digest());
  header.pieces = pieces_.size();
  header.index = aligned(end_) + PackedWeights::kAlignment;
  const std::span<const std::byte> index = std::as_bytes(std::span(pieces_));
  header.index_sum = kept_sum_of(index);
  header.sum = header.own_sum();
  // Not waited for by fsync(): seconds on a card, and a file that a lost power left in pieces is found out by its sums.
  if (!failure_ &&
      (!write_at(header.index, index) || !write_at(0, std::as_bytes(std::span(&header, 1))) || !publish())) {
    give_up("cannot write it: " + errno_text());
  }
  if (failure_) return fail(ErrorCode::kIo, *failure_, kept_.path().string());
  kept_.make_room();
  return {};
}

}  // namespace kinglet::engine
