// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/visits.csv: the whole history in the columns of `kinglet store export`, a page of rows at a time, so
// that neither memory nor the store's reader is held for long.
#include "daemon/http/figures/slots.h"
#include "daemon/http/history/history.h"
#include "daemon/http/message/parameters.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"
#include "store/export.h"
#include "store/store.h"

namespace kinglet::daemon::http {
namespace {

constexpr std::size_t kPage = 500;
constexpr std::chrono::minutes kLongest{15};

// What is left of one answer.
struct Rest {
  visits::VisitQuery query;
  store::VisitPage page;  // read, not sent yet
  std::string header{store::csv_header()};
  SteadyTime deadline = SteadyClock::now() + kLongest;
  std::shared_ptr<void> slot;
};

Result<bool> next_piece(store::Store& store, Rest& rest, std::string& piece) {
  if (SteadyClock::now() > rest.deadline) return fail(ErrorCode::kUnavailable, "the reader is too slow");
  piece += std::exchange(rest.header, {});
  for (const store::VisitView& view : rest.page.items) {
    if (view.row.visit.state == visits::VisitState::kEnded) piece += store::csv_record(view);
  }
  if (!rest.page.has_more) return false;
  rest.query.after_seq = rest.page.items.back().row.visit.seq;
  rest.page = KINGLET_TRY(store.visits(rest.query));
  return true;
}

}  // namespace

Reply get_visits_csv(const HistoryView& view, const Call& call) {
  auto rest = std::make_shared<Rest>();
  std::expected<visits::VisitQuery, Reply> query = read_visit_query(call);
  if (!query) return query.error();
  rest->query = std::move(*query);
  rest->query.limit = kPage;
  const std::string tag = list_tag(view);
  if (std::optional<Reply> same = not_modified(call, tag)) return *same;
  rest->slot = view.long_answers.take(SlotKind::kPictures, call.caller.limit_key);
  if (!rest->slot) return problem("too-many-streams", "other long answers are in work");
  // The first page now: what is wrong with the disk is still an answer with a status.
  Result<store::VisitPage> page = view.store.visits(rest->query);
  if (!page) return store_problem(page.error());
  rest->page = std::move(*page);
  return Reply{.content_type = "text/csv; charset=utf-8; header=present",
               .headers = {{"ETag", tag},
                           {"Cache-Control", "no-cache"},
                           {"Content-Disposition", "attachment; filename=\"kinglet-visits.csv\""}},
               .more = [&store = view.store, rest](std::string& piece) { return next_piece(store, *rest, piece); }};
}

}  // namespace kinglet::daemon::http
