// SPDX-License-Identifier: Apache-2.0
#include "cli/reviewed_visits.h"

#include <string_view>
#include <system_error>

#include "store/database/picture_files.h"
#include "store/database/queries.h"
#include "store/options.h"

namespace kinglet::cli {
namespace {

namespace fs = std::filesystem;
using visits::Verdict;
using visits::Visit;

constexpr std::size_t kPage = 500;

// What the model should say of a picture without a bird; empty: it has no class for that, or several.
std::string_view background_of(const visits::Taxa& taxa) {
  std::string_view found;
  for (std::size_t i = 0; i < taxa.leaf_count(); ++i) {
    if (taxa[i].role != engine::LabelRole::kBackground) continue;
    if (!found.empty()) return {};
    found = taxa[i].species_id;
  }
  return found;
}

std::string_view label_of(const Visit& visit, std::string_view background) {
  switch (visit.review.verdict) {
    case Verdict::kConfirmed:
    case Verdict::kCorrected:
      return visit.species_id();
    case Verdict::kNotABird:
      return background;
    case Verdict::kNone:
    case Verdict::kUnknown:
      return {};
  }
  return {};
}

}  // namespace

Result<ReviewedVisits> read_reviewed_visits(const fs::path& folder, const visits::Taxa& taxa) {
  const fs::path database = store::database_file(folder);
  std::error_code missing;
  if (!fs::exists(database, missing)) {
    return fail(ErrorCode::kNotFound, "there is no history of visits, or it is not yours to read", database.string(),
                "run this with sudo, or name its folder: --path DIR");
  }
  store::Queries queries = KINGLET_TRY(store::Queries::open(database));
  const store::PictureFiles files(folder);
  const std::string_view background = background_of(taxa);
  ReviewedVisits out;
  visits::VisitQuery query{.limit = kPage, .descending = false};
  while (true) {
    const store::VisitPage page = KINGLET_TRY(queries.visits(query));
    for (const store::VisitView& view : page.items) {
      const Visit& visit = view.row.visit;
      if (visit.state == visits::VisitState::kOpen || visit.review.verdict == Verdict::kNone) continue;
      const std::string_view label = label_of(visit, background);
      if (label.empty()) {
        ++out.without_label;
      } else if (view.row.pictures.crop.value_or(0) == 0) {
        ++out.without_picture;
      } else {
        const fs::path file = KINGLET_TRY(files.path_of(visit.id, store::Picture::kCrop));
        out.pictures.push_back({.file = file.string(), .label = std::string(label)});
      }
    }
    if (!page.has_more) return out;
    query.after_seq = page.items.back().row.visit.seq;
  }
}

}  // namespace kinglet::cli
