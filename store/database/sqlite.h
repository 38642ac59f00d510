// SPDX-License-Identifier: Apache-2.0
// Why: the only way to SQLite: connections and statements that close themselves, and each failure as one clear line.
// Nothing outside store/ includes this or sqlite3.h.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace kinglet::store {

class Database;

// A prepared statement on loan from its connection's cache: reset when it goes out of scope, so that no read
// transaction stays open. Parameters are numbered from 1, columns from 0. Thread-bound, not longer than the Database.
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  // What cannot be bound (too large, no memory) is told by the next step().
  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, std::uint64_t value) { return bind(index, static_cast<std::int64_t>(value)); }
  Statement& bind(int index, int value) { return bind(index, std::int64_t{value}); }
  Statement& bind(int index, bool value) { return bind(index, std::int64_t{value}); }
  Statement& bind(int index, double value);
  Statement& bind(int index, std::string_view value);  // copied
  Statement& bind(int index, const std::string& value) { return bind(index, std::string_view(value)); }
  Statement& bind(int index, const char* value) { return bind(index, std::string_view(value)); }
  Statement& bind_null(int index);

  // True: there is a row. False: done.
  [[nodiscard]] Result<bool> step();
  // Steps to the end and resets, so that it can be bound and run again.
  [[nodiscard]] Result<void> run();

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t natural(int column) const;  // negative values read as 0
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  friend class Database;
  Statement(Database& database, sqlite3_stmt* statement) : database_(&database), statement_(statement) {}

  Database* database_;
  sqlite3_stmt* statement_;
  int bind_error_ = SQLITE_OK;
};

// kUnwritable: on a disk that cannot be written, so that nobody writes there. Not even shared memory is made, for which
// kReadOnly needs room in the folder; whoever writes after all is not noticed.
enum class OpenAs { kReadOnly, kUnwritable, kReadWrite, kCreate, kMemory };

// One connection. Thread-bound: its owner guards it. Error codes: kBadData the file is damaged or no database;
// kIo the disk is full or fails; kBusy another program writes; kNotPermitted read-only; kNotFound it cannot be opened.
class Database {
 public:
  // `vfs` is the name of a registered sqlite3_vfs, empty for the default one. kMemory ignores `path`, kUnwritable
  // `vfs`.
  [[nodiscard]] static Result<Database> open(const std::filesystem::path& path, OpenAs as, const std::string& vfs = {});
  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) noexcept = default;
  ~Database() = default;

  // `sql` is one statement, kept prepared for the next call with the same text.
  [[nodiscard]] Result<Statement> prepare(std::string_view sql);
  // Several statements without parameters or results: schemas and pragmas.
  [[nodiscard]] Result<void> execute(const std::string& sql);
  // The first column of the first row; 0 or empty when there is no row.
  [[nodiscard]] Result<std::int64_t> integer_of(std::string_view sql);
  [[nodiscard]] Result<std::string> text_of(std::string_view sql);

  [[nodiscard]] std::int64_t changes() const { return sqlite3_changes64(handle_.get()); }
  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }
  // What `code` of this connection means, as an error of ours.
  [[nodiscard]] Error error_of(int code) const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  explicit Database(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] static Result<Database> open_unwritable(const std::filesystem::path& path);
  [[nodiscard]] Result<void> connect(const std::string& name, int flags, const std::string& vfs);

  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>> cache_;  // finalized before closing
};

// Runs `body` within one transaction that writes; rolled back when it or the commit fails.
template <typename Body>
[[nodiscard]] Result<void> in_transaction(Database& database, Body&& body) {
  KINGLET_TRY(database.execute("BEGIN IMMEDIATE"));
  Result<void> done = body();
  if (done) done = database.execute("COMMIT");
  // After some errors SQLite has rolled back by itself.
  if (!done && sqlite3_get_autocommit(database.handle()) == 0) (void)database.execute("ROLLBACK");
  return done;
}

}  // namespace kinglet::store
