// SPDX-License-Identifier: Apache-2.0
#include "store/database/sqlite.h"

#include <system_error>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::store {
namespace {

// Statements differ by the filters of a list; far fewer than this are in use.
constexpr std::size_t kCachedStatements = 128;
constexpr int kBusyPatienceMs = 5000;

struct CodeRow {
  int sqlite_code;
  ErrorCode code;
  std::string_view hint;
};
constexpr CodeRow kCodes[] = {
    {SQLITE_CORRUPT, ErrorCode::kBadData, "`kinglet store check` says more"},
    {SQLITE_NOTADB, ErrorCode::kBadData, "`kinglet store check` says more"},
    {SQLITE_FULL, ErrorCode::kIo, "free some space"},
    {SQLITE_IOERR, ErrorCode::kIo, "check the disk"},
    {SQLITE_BUSY, ErrorCode::kBusy, "try again"},
    {SQLITE_LOCKED, ErrorCode::kBusy, "try again"},
    {SQLITE_READONLY, ErrorCode::kNotPermitted, "make the folder writable for this user"},
    {SQLITE_PERM, ErrorCode::kNotPermitted, "make the folder writable for this user"},
    {SQLITE_CANTOPEN, ErrorCode::kNotFound, "check the folder and its rights"},
};

// As SQLite wants file names with settings.
std::string uri_of(const std::filesystem::path& path, std::string_view settings) {
  constexpr std::string_view kSpecial = "%?#";
  std::string uri = "file:";
  for (const char letter : path.string()) {
    uri +=
        kSpecial.contains(letter) ? format_text("%{:02x}", static_cast<unsigned char>(letter)) : std::string(1, letter);
  }
  return uri + std::string(settings);
}

bool has_content(const std::filesystem::path& path) {
  std::error_code missing;
  const std::uintmax_t size = std::filesystem::file_size(path, missing);
  return !missing && size > 0;
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      bind_error_(other.bind_error_) {}

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Statement& Statement::bind(int index, std::int64_t value) {
  if (const int code = sqlite3_bind_int64(statement_, index, value); code != SQLITE_OK) bind_error_ = code;
  return *this;
}

Statement& Statement::bind(int index, double value) {
  if (const int code = sqlite3_bind_double(statement_, index, value); code != SQLITE_OK) bind_error_ = code;
  return *this;
}

Statement& Statement::bind(int index, std::string_view value) {
  // A null pointer would bind NULL instead of an empty text.
  const char* data = value.data() == nullptr ? "" : value.data();
  const int code = sqlite3_bind_text64(statement_, index, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) bind_error_ = code;
  return *this;
}

Statement& Statement::bind_null(int index) {
  if (const int code = sqlite3_bind_null(statement_, index); code != SQLITE_OK) bind_error_ = code;
  return *this;
}

Result<bool> Statement::step() {
  const int code = bind_error_ != SQLITE_OK ? bind_error_ : sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return std::unexpected(database_->error_of(code));
}

Result<void> Statement::run() {
  while (KINGLET_TRY(step())) {
  }
  sqlite3_reset(statement_);
  return {};
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::uint64_t Statement::natural(int column) const {
  const std::int64_t value = integer(column);
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Result<Database> Database::open(const std::filesystem::path& path, OpenAs as, const std::string& vfs) {
  if (as == OpenAs::kUnwritable) return open_unwritable(path);
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (as == OpenAs::kReadOnly) {
    flags |= SQLITE_OPEN_READONLY;
  } else {
    flags |= SQLITE_OPEN_READWRITE;
    if (as != OpenAs::kReadWrite) flags |= SQLITE_OPEN_CREATE;
  }
  Database database(as == OpenAs::kMemory ? "memory" : path);
  KINGLET_TRY(database.connect(as == OpenAs::kMemory ? ":memory:" : path.string(), flags, vfs));
  return database;
}

// Without a journal the file is all there is. With one, that is read into memory of our own (an exclusive lock, which
// on such a disk can only be pretended), and is never put into the file.
Result<Database> Database::open_unwritable(const std::filesystem::path& path) {
  constexpr int kFlags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  const bool has_journal = has_content(path.string() + "-wal");
  Database database(path);
  KINGLET_TRY(
      database.connect(uri_of(path, has_journal ? "" : "?immutable=1"), kFlags, has_journal ? "unix-none" : ""));
  sqlite3_db_config(database.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  if (has_journal) KINGLET_TRY(database.execute("PRAGMA locking_mode = EXCLUSIVE"));
  return database;
}

Result<void> Database::connect(const std::string& name, int flags, const std::string& vfs) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, vfs.empty() ? nullptr : vfs.c_str());
  handle_.reset(handle);
  if (code != SQLITE_OK) return std::unexpected(error_of(code));
  sqlite3_busy_timeout(handle, kBusyPatienceMs);
  // Rows may come from a damaged or foreign file: no schema may call functions, no view may write.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  if (const auto found = cache_.find(sql); found != cache_.end()) {
    // A cached statement can be on loan only once.
    KINGLET_CHECK(sqlite3_stmt_busy(found->second.get()) == 0);
    return Statement(*this, found->second.get());
  }
  if (cache_.size() >= kCachedStatements) {
    std::erase_if(cache_, [](const auto& entry) { return sqlite3_stmt_busy(entry.second.get()) == 0; });
  }
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return std::unexpected(error_of(code));
  KINGLET_CHECK(statement != nullptr);
  cache_.emplace(std::string(sql), std::unique_ptr<sqlite3_stmt, Finalize>(statement));
  return Statement(*this, statement);
}

Result<void> Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(error_of(code));
  return {};
}

Result<std::int64_t> Database::integer_of(std::string_view sql) {
  Statement statement = KINGLET_TRY(prepare(sql));
  return KINGLET_TRY(statement.step()) ? statement.integer(0) : 0;
}

Result<std::string> Database::text_of(std::string_view sql) {
  Statement statement = KINGLET_TRY(prepare(sql));
  return KINGLET_TRY(statement.step()) ? statement.text(0) : std::string();
}

Error Database::error_of(int code) const {
  Error error{ErrorCode::kInternal, {}, path_.string(), {}};
  for (const CodeRow& row : kCodes) {
    if (row.sqlite_code == (code & 0xFF)) {
      error.code = row.code;
      error.hint = row.hint;
    }
  }
  const bool last = handle_ && (sqlite3_errcode(handle_.get()) & 0xFF) == (code & 0xFF);
  error.message = std::string("the database: ") + (last ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code));
  const int system = handle_ ? sqlite3_system_errno(handle_.get()) : 0;
  const bool of_the_system = error.code == ErrorCode::kIo || error.code == ErrorCode::kNotFound;
  if (of_the_system && system != 0) error.message += " (" + errno_text(system) + ")";
  error.message = printable(error.message, 400);
  return error;
}

}  // namespace kinglet::store
