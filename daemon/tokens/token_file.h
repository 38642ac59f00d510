// SPDX-License-Identifier: Apache-2.0
// Why: who may do more than look: names, roles and SHA-256 of tokens in tokens.toml of the state folder, which the
// daemon and `kinglet token` change under one lock. The tokens themselves are nowhere.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/tokens/role.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"

namespace kinglet::daemon {

struct Token {
  std::string name;  // is_token_name()
  Role role = Role::kRead;
  std::string sha256;        // of the token's text, hexadecimal
  std::string created_at;    // RFC 3339
  std::string claimed_from;  // address of the first owner; empty for others
};

struct TokenList {
  std::int64_t first_start = 0;  // of the daemon, Unix seconds; 0: it never ran
  bool pairing = false;          // somebody at a terminal lets a first owner be claimed
  bool owned = false;            // an admin token was ever made: only who may write here makes another
  std::vector<Token> tokens;
};

inline constexpr std::size_t kMostTokens = 100;

[[nodiscard]] std::filesystem::path token_file(const std::filesystem::path& folder);

// kNotFound: there is none yet. kBadData: not what we write.
[[nodiscard]] Result<TokenList> read_tokens(const std::filesystem::path& folder);

// Reads, lets `change` change, writes (0600, beside and renamed, owned by the folder's owner), all under the lock; an
// error of `change` writes nothing. No file yet is an empty list; a file that has lost its first_start is that of a
// daemon that ran long ago. kCannotCreate, kIo, kNotPermitted, kBadData.
using ChangeTokens = std::function<Result<void>(TokenList& list)>;
[[nodiscard]] Result<TokenList> change_tokens(const std::filesystem::path& folder, const ChangeTokens& change);

// Adds a row and gives the token's text, which nobody can have again: "kgl_" and 256 random bits, base64url. With the
// first admin token the device has an owner, for good.
// kUsage: the name is taken or no name; kBusy: there are kMostTokens.
[[nodiscard]] Result<std::string> add_token(TokenList& list, std::string_view name, Role role, WallTime now);

// "live", "live-2", ...: a name that nobody has.
[[nodiscard]] std::string free_token_name(const TokenList& list, std::string_view wish);
// One line of 1 to 40 bytes that may stand in a log and in TOML as it is.
[[nodiscard]] bool is_token_name(std::string_view name);

// Hexadecimal SHA-256 of a token's text.
[[nodiscard]] std::string token_digest(std::string_view text);

// The row of this token, or nullptr. The time does not tell how much of it was right.
[[nodiscard]] const Token* find_token(const TokenList& list, std::string_view text);

}  // namespace kinglet::daemon
