// SPDX-License-Identifier: Apache-2.0
#include "cli/judgement_text.h"

#include <nlohmann/json.hpp>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

constexpr std::size_t kMostNamed = 10;

}  // namespace

nlohmann::ordered_json to_json(const engine::Judgement& judgement, const std::vector<std::string>& files) {
  nlohmann::ordered_json changed = nlohmann::ordered_json::array();
  for (const std::size_t picture : judgement.changed) changed.push_back(files.at(picture));
  nlohmann::ordered_json out{{"pictures", judgement.pictures},
                             {"same_top1", judgement.same_top1},
                             {"same_top5", judgement.same_top5},
                             {"agreement_percent", judgement.agreement_percent()},
                             {"drop_percent", judgement.drop_percent()},
                             {"drop_margin_percent", judgement.drop_margin_percent()},
                             {"expected_drop_percent", judgement.expected_drop_percent},
                             {"expected_drop_error_percent", judgement.expected_drop_error_percent},
                             {"max_score_error", judgement.max_score_error},
                             {"mean_score_error", judgement.mean_score_error},
                             {"signal_to_noise_db", judgement.signal_to_noise_db},
                             {"changed", std::move(changed)}};
  if (judgement.labelled > 0) {
    out["labelled"] = judgement.labelled;
    out["right_before"] = judgement.right_before;
    out["right_after"] = judgement.right_after;
  }
  return out;
}

std::string to_text(const engine::Judgement& judgement, const std::vector<std::string>& files) {
  std::string text =
      format_text("agreement   {} of {} pictures have the same first answer ({:.1f} %), {} the same among five\n",
                  judgement.same_top1, judgement.pictures, judgement.agreement_percent(), judgement.same_top5);
  if (judgement.labelled > 0) {
    text += format_text("right       {} of {} before, {} after\n", judgement.right_before, judgement.labelled,
                        judgement.right_after);
  }
  text += format_text("drop        {:.2f} points, give or take {:.2f} ({})\n", judgement.drop_percent(),
                      judgement.drop_margin_percent(),
                      judgement.labelled > 0 ? "of right answers" : "labels are not known: answers that changed");
  text += format_text("expected    {:.2f} points, give or take {:.2f}, if the probabilities before are true\n",
                      judgement.expected_drop_percent, 1.96 * judgement.expected_drop_error_percent);
  text += format_text("scores      the first answer's moves by {:.4f} in the mean; largest move of any {:.4f}\n",
                      judgement.mean_score_error, judgement.max_score_error);
  text += format_text("noise       {:.1f} dB below the answers\n", judgement.signal_to_noise_db);
  for (std::size_t i = 0; i < judgement.changed.size() && i < kMostNamed; ++i) {
    text += format_text("changed     {}\n", printable(files.at(judgement.changed[i])));
  }
  if (judgement.changed.size() > kMostNamed)
    text += format_text("            and {} more\n", judgement.changed.size() - kMostNamed);
  return text;
}

}  // namespace kinglet::cli
