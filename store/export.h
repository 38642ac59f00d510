// SPDX-License-Identifier: Apache-2.0
// Why: the history in forms that other programs read: CSV (RFC 4180), eBird's record format, JSON.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/file.h"
#include "engine/base/local_time.h"
#include "store/database/queries.h"

namespace kinglet::store {

enum class ExportFormat : std::uint8_t {
  kCsv,    // a row a visit, with a header
  kEbird,  // a row a species and local day, 19 columns without a header: eBird's "record format (extended)"
  kJson,   // an array of the API's visits
};

struct ExportOptions {
  ExportFormat format = ExportFormat::kCsv;
  visits::VisitQuery query;         // limit and order are the export's own
  bool unreviewed = false;          // kEbird: also what no person has confirmed
  TimeZone zone;                    // kEbird: of the times
  std::string location = "Feeder";  // kEbird, like those below
  std::string latitude;             // decimal degrees
  std::string longitude;
  std::string state;    // "BY"
  std::string country;  // "DE"
};

// Gives the number of rows.
[[nodiscard]] Result<std::uint64_t> export_visits(Queries& queries, const ExportOptions& options, const PutBytes& put);

// The first line of kCsv, and a line of it.
[[nodiscard]] std::string_view csv_header();
[[nodiscard]] std::string csv_record(const VisitView& view);

// One field of a CSV record: quoted where it must be. A text that a spreadsheet would take for a formula gets a '
// first.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace kinglet::store
