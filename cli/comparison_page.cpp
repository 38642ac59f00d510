// SPDX-License-Identifier: Apache-2.0
#include "cli/comparison_page.h"

#include <algorithm>

#include "cli/html.h"
#include "cli/output.h"
#include "engine/base/format.h"

namespace kinglet::cli {
namespace {

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>kinglet compare</title>
<style>
:root { color-scheme: light dark; --bar: #2d7d46; --faint: #8884; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .2rem .8rem .2rem 0; }
svg { width: 100%; height: auto; } rect { fill: var(--bar); } line { stroke: var(--faint); } text { fill: currentColor; font-size: 11px; }
</style>
)";

std::string row(std::string_view name, std::string_view before, std::string_view after) {
  return format_text("<tr><th scope=\"row\">{}<td>{}<td>{}\n", html(name), html(before), html(after));
}

std::string figures(const Comparison& found) {
  std::string out = "<table><tr><td><th scope=\"col\">before<th scope=\"col\">after\n";
  out += row("model", found.a, found.b);
  out += row("size", human_bytes(found.a_bytes), human_bytes(found.b_bytes));
  out += row("time of one picture, least of 20", format_text("{:.2f} ms", found.a_ms),
             format_text("{:.2f} ms", found.b_ms));
  if (found.judgement.labelled > 0) {
    out += row("right answers", format_text("{} of {}", found.judgement.right_before, found.judgement.labelled),
               format_text("{} of {}", found.judgement.right_after, found.judgement.labelled));
  }
  return out + "</table>\n";
}

std::string answers(const engine::Judgement& judgement) {
  return format_text(
      "<p>{} of {} pictures have the same first answer ({:.1f} %), {} the same among five. The first answer's score "
      "moves "
      "by {:.4f} in the mean. Noise lies {:.1f} dB below the answers.\n",
      judgement.same_top1, judgement.pictures, judgement.agreement_percent(), judgement.same_top5,
      judgement.mean_score_error, judgement.signal_to_noise_db);
}

// A bar for each value, in the order of the model: the longer, the less noise.
std::string plot(const std::vector<engine::ValueNoise>& layers) {
  constexpr double kBar = 12, kLeft = 330, kWidth = 600;
  constexpr double kMostDb = 60;
  std::string out = format_text(
      "<h2>Signal to noise, value by value</h2>\n<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"signal to noise of each value in dB\">\n",
      kLeft + kWidth + 60, kBar * static_cast<double>(layers.size()) + 10);
  double y = 0;
  for (const engine::ValueNoise& layer : layers) {
    const double width = kWidth * std::clamp(layer.signal_to_noise_db / kMostDb, 0.0, 1.0);
    out += format_text(
        "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{} ({})</text><rect x=\"{:.0f}\" y=\"{:.0f}\" "
        "width=\"{:.1f}\" height=\"{:.0f}\"/><text x=\"{:.1f}\" y=\"{:.0f}\">{:.1f}</text>\n",
        kLeft - 6, y + kBar - 2, html(layer.value.substr(0, 48)), html(layer.op_type), kLeft, y + 1, width, kBar - 3,
        kLeft + width + 4, y + kBar - 2, layer.signal_to_noise_db);
    y += kBar;
  }
  return out + "</svg>\n";
}

std::string changed(const Comparison& found) {
  if (found.judgement.changed.empty()) return "";
  std::string out = "<h2>Pictures with another first answer</h2>\n<ul>\n";
  for (const std::size_t picture : found.judgement.changed)
    out += format_text("<li>{}\n", html(found.files.at(picture)));
  return out + "</ul>\n";
}

}  // namespace

std::string comparison_page(const Comparison& found) {
  std::string page(kHead);
  page += "<h1>What the change costs</h1>\n" + figures(found) + answers(found.judgement) + changed(found);
  return found.layers.empty() ? page : page + plot(found.layers);
}

}  // namespace kinglet::cli
