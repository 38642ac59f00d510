// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/compress.h"

#include <zlib.h>

namespace kinglet::daemon::http {
namespace {

constexpr std::size_t kWorthIt = 1024;
constexpr int kGzip = 15 + 16;  // window bits, plus zlib's flag for the gzip form
constexpr int kLevel = 4;       // most of the gain at a third of the time

bool is_text(std::string_view content_type) {
  return content_type.starts_with("text/") || content_type.starts_with("application/json") ||
         content_type.starts_with("application/problem+json") ||
         content_type.starts_with("application/openmetrics-text") || content_type.starts_with("image/svg+xml");
}

}  // namespace

void compress(Reply& reply) {
  if (!is_text(reply.content_type)) return;
  reply.headers.emplace_back("Vary", "Accept-Encoding");
  if (reply.body.size() < kWorthIt) return;
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) return;
  std::string packed(deflateBound(&stream, reply.body.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(reply.body.data());
  stream.avail_in = static_cast<uInt>(reply.body.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END || packed.size() >= reply.body.size()) return;
  reply.body = std::move(packed);
  reply.headers.emplace_back("Content-Encoding", "gzip");
}

}  // namespace kinglet::daemon::http
