// SPDX-License-Identifier: Apache-2.0
// Why: SHA-256 of bytes that come in pieces.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace kinglet::daemon::backup {

class Digest {
 public:
  Digest();
  void add(std::string_view bytes);
  // Of all so far, 64 hexadecimal digits; more may be added.
  [[nodiscard]] std::string hex() const;

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace kinglet::daemon::backup
