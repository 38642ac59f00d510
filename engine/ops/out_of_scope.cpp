// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/out_of_scope.h"

#include <algorithm>

#include "engine/base/format.h"

namespace kinglet::engine {
namespace {

struct OperatorRow {
  std::string_view domain, op_type, reason;
};
constexpr OperatorRow kOperators[] = {
#define KINGLET_OUT_OF_SCOPE(domain, op_type, reason) {domain, op_type, reason},
#include "engine/ops/out_of_scope.def"
};

struct TypeRow {
  std::int64_t number;
  std::string_view name, reason;
};
constexpr TypeRow kTypes[] = {
#define KINGLET_OUT_OF_SCOPE_TYPE(number, name, reason) {number, name, reason},
#include "engine/ops/out_of_scope.def"
};

}  // namespace

std::string_view out_of_scope_reason(std::string_view domain, std::string_view op_type) {
  for (const OperatorRow& row : kOperators) {
    if (row.domain == domain && (row.op_type.empty() || row.op_type == op_type)) return row.reason;
  }
  return "";
}

std::string describe_refused_type(std::int64_t number) {
  const auto at = std::ranges::find(kTypes, number, &TypeRow::number);
  if (at == std::ranges::end(kTypes)) return format_text("type {}", number);
  return format_text("{} ({})", at->name, at->reason);
}

const std::vector<std::string_view>& out_of_scope_reasons() {
  static const std::vector<std::string_view> reasons = [] {
    std::vector<std::string_view> found;
    const auto add = [&](std::string_view reason) {
      if (std::ranges::find(found, reason) == found.end()) found.push_back(reason);
    };
    for (const OperatorRow& row : kOperators) add(row.reason);
    for (const TypeRow& row : kTypes) add(row.reason);
    return found;
  }();
  return reasons;
}

}  // namespace kinglet::engine
