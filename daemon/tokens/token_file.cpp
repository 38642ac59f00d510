// SPDX-License-Identifier: Apache-2.0
#include "daemon/tokens/token_file.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <toml++/toml.hpp>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = 256U << 10;
constexpr std::size_t kRandomBytes = 32;
constexpr std::size_t kDigestBytes = 32;
constexpr std::string_view kPrefix = "kgl_";
constexpr std::int64_t kLongAgo = 1;  // a first start that the file does not tell: emptied, or cut off

Result<FileDescriptor> lock(const fs::path& folder) {
  const fs::path path = folder / "tokens.lock";
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) {
    const ErrorCode code = errno == EACCES || errno == EPERM ? ErrorCode::kNotPermitted : ErrorCode::kCannotCreate;
    return fail(code, "cannot open the file: " + errno_text(), path.string(),
                code == ErrorCode::kNotPermitted ? "run this with sudo" : "check the folder of the history");
  }
  give_to_owner_of(folder, file.get());
  while (flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return fail(ErrorCode::kIo, "cannot lock the file: " + errno_text(), path.string());
  }
  return file;
}

Result<void> write_private(const fs::path& folder, const fs::path& path, std::string_view bytes) {
  KINGLET_TRY(write_file(path, bytes, Overwrite::kReplace, Readers::kOwner));
  // The file is durable; its name in the folder only after this.
  const FileDescriptor parent(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.valid()) fsync(parent.get());
  return {};
}

std::string to_hex(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += format_text("{:02x}", byte);
  return text;
}

std::string to_base64url(std::span<const unsigned char> bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  while (text.ends_with('=')) text.pop_back();
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

bool is_digest(std::string_view text) {
  return text.size() == 2 * kDigestBytes &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::optional<Token> token_of(const toml::table& row) {
  const auto text = [&](std::string_view key) { return row[key].value_or(std::string()); };
  const std::optional<Role> role = role_of(text("role"));
  Token token{.name = text("name"),
              .role = role.value_or(Role::kOpen),
              .sha256 = text("sha256"),
              .created_at = text("created_at"),
              .claimed_from = text("claimed_from")};
  const bool good = is_token_name(token.name) && role && *role != Role::kOpen && is_digest(token.sha256) &&
                    (token.created_at.empty() || is_token_name(token.created_at)) &&
                    (token.claimed_from.empty() || is_token_name(token.claimed_from));
  return good ? std::optional(std::move(token)) : std::nullopt;
}

Result<TokenList> parse(const std::string& text, const fs::path& path) {
  const auto bad = [&](std::string_view what) {
    return fail(ErrorCode::kBadData, std::string(what), path.string(), "remove the file and make the tokens anew");
  };
  try {
    const toml::table table = toml::parse(text);
    TokenList list{.first_start = table["first_start"].value_or(kLongAgo),
                   .pairing = table["pairing"].value_or(false),
                   .owned = table["owned"].value_or(false)};
    if (const toml::array* rows = table["token"].as_array()) {
      for (const toml::node& row : *rows) {
        const std::optional<Token> token = row.is_table() ? token_of(*row.as_table()) : std::nullopt;
        if (!token || list.tokens.size() == kMostTokens) return bad("is not a list of tokens as kinglet writes it");
        list.tokens.push_back(*token);
        list.owned = list.owned || token->role == Role::kAdmin;
      }
    }
    return list;
  } catch (const toml::parse_error& error) {
    return bad(printable(error.description()));
  }
}

// Every text is free of quotes and escapes: is_token_name().
std::string text_of(const TokenList& list) {
  std::string text =
      "# Written by kinglet. The tokens are not here, only their SHA-256: who has lost one makes another\n"
      "# (kinglet token add) and revokes this one (kinglet token revoke).\n";
  text += format_text("first_start = {}\n", list.first_start);
  if (list.pairing) text += "pairing = true\n";
  if (list.owned) text += "owned = true\n";
  for (const Token& token : list.tokens) {
    text += format_text("\n[[token]]\nname = \"{}\"\nrole = \"{}\"\nsha256 = \"{}\"\ncreated_at = \"{}\"\n", token.name,
                        to_string(token.role), token.sha256, token.created_at);
    if (!token.claimed_from.empty()) text += format_text("claimed_from = \"{}\"\n", token.claimed_from);
  }
  return text;
}

}  // namespace

fs::path token_file(const fs::path& folder) { return folder / "tokens.toml"; }

Result<TokenList> read_tokens(const fs::path& folder) {
  const fs::path path = token_file(folder);
  return parse(KINGLET_TRY(read_file(path, kMostBytes)), path);
}

Result<TokenList> change_tokens(const fs::path& folder, const ChangeTokens& change) {
  const FileDescriptor locked = KINGLET_TRY(lock(folder));
  const fs::path path = token_file(folder);
  TokenList list;
  std::error_code unknown;
  if (fs::exists(fs::symlink_status(path, unknown))) {
    list = KINGLET_TRY(read_tokens(folder));
  } else if (unknown && unknown != std::errc::no_such_file_or_directory) {
    return fail(ErrorCode::kIo, "cannot look for the file: " + unknown.message(), path.string());
  }
  KINGLET_TRY(change(list));
  KINGLET_TRY(write_private(folder, path, text_of(list)));
  return list;
}

std::string free_token_name(const TokenList& list, std::string_view wish) {
  std::string name(wish);
  for (int i = 2; std::ranges::contains(list.tokens, name, &Token::name); ++i) name = format_text("{}-{}", wish, i);
  return name;
}

bool is_token_name(std::string_view name) {
  constexpr std::size_t kLongest = 40;
  return !name.empty() && name.size() <= kLongest && printable(name, kLongest) == name && name.front() != ' ' &&
         name.back() != ' ' && name.find_first_of("\"\\") == std::string_view::npos;
}

Result<std::string> add_token(TokenList& list, std::string_view name, Role role, WallTime now) {
  if (!is_token_name(name)) {
    return fail(ErrorCode::kUsage, format_text("\"{}\" is not a name for a token", printable(name)), {},
                "1 to 40 letters without quotes and backslashes");
  }
  if (std::ranges::contains(list.tokens, name, &Token::name)) {
    return fail(ErrorCode::kUsage, format_text("there is a token called \"{}\" already", name), {},
                "take another name, or revoke that one first");
  }
  if (list.tokens.size() >= kMostTokens) {
    return fail(ErrorCode::kBusy, format_text("there are {} tokens already", list.tokens.size()), {},
                "revoke some that nobody needs");
  }
  std::array<unsigned char, kRandomBytes> random{};
  if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) {
    return fail(ErrorCode::kUnavailable, "the system gives no random bytes");
  }
  std::string text = std::string(kPrefix) + to_base64url(random);
  list.tokens.push_back({.name = std::string(name),
                         .role = role,
                         .sha256 = token_digest(text),
                         .created_at = to_rfc3339(now),
                         .claimed_from = {}});
  list.owned = list.owned || role == Role::kAdmin;
  return text;
}

std::string token_digest(std::string_view text) {
  std::array<unsigned char, kDigestBytes> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  return to_hex(digest);
}

const Token* find_token(const TokenList& list, std::string_view text) {
  const std::string digest = token_digest(text);
  const Token* found = nullptr;
  for (const Token& token : list.tokens) {
    if (CRYPTO_memcmp(token.sha256.data(), digest.data(), digest.size()) == 0) found = &token;
  }
  return found;
}

}  // namespace kinglet::daemon
