// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/quantize.h"

#include <algorithm>
#include <array>

#include "engine/base/format.h"
#include "engine/quantize/equalize.h"
#include "engine/quantize/qdq.h"
#include "engine/quantize/weights/layers.h"
#include "engine/session/optimize.h"

namespace kinglet::engine {
namespace {

constexpr std::int64_t kFirstOpset = 13;    // scales along an axis
constexpr std::size_t kMostForTrials = 32;  // pictures that methods and layers are tried on
constexpr std::size_t kMostForLayers = 8;

Samples first_of(const Samples& samples, std::size_t most) {
  return {.count = std::min(samples.count, most), .input = samples.input};
}

class Quantizer {
 public:
  Quantizer(const Samples& samples, const QuantizeOptions& options, const Progress& progress)
      : samples_(samples), options_(options), progress_(progress) {}

  Result<QuantizedModel> run(const Graph& given) {
    KINGLET_TRY(prepare(given));
    KINGLET_TRY(choose_method());
    KINGLET_TRY(accept(options_.keep_float));
    if (options_.max_drop && best_.judgement.judged_drop_percent() > *options_.max_drop) KINGLET_TRY(keep_layers());
    report_.kept_float = {best_.kept.begin(), best_.kept.end()};
    report_.layers = full_.layers.size() - (best_.kept.size() - options_.keep_float.size());
    report_.judgement = std::move(best_.judgement);
    report_.bytes_after = size_of(best_.graph).constant_bytes;
    for (LayerNoise& row : report_.sensitivity) row.kept_float = best_.kept.contains(row.name);
    return QuantizedModel{.graph = std::move(best_.graph), .report = std::move(report_)};
  }

 private:
  struct Trial {
    Graph graph;
    std::set<std::string> kept;
    Judgement judgement;
  };

  // The float graph in the form that layers are found in, its answers, and what its values hold.
  Result<void> prepare(const Graph& given) {
    report_.bytes_before = size_of(given).constant_bytes;
    float_ = KINGLET_TRY(optimize_model(given, {.prove = false})).graph;
    float_.metadata.opset = std::max(float_.metadata.opset, kFirstOpset);
    PassBudget unlimited;
    KINGLET_TRY(passes::fuse_hard_sigmoid_into_conv(float_, unlimited));
    Session session = KINGLET_TRY(Session::create(Graph(float_), {}));
    output_ = options_.output.value_or(first_output(session));
    answers_ = KINGLET_TRY(answers_of(session, output_, samples_, progress_));
    if (options_.equalize) report_.equalized_pairs = equalize(float_);
    KINGLET_TRY(check_names());
    full_ = choose_scheme(float_, options_.keep_float);
    if (full_.layers.empty()) {
      return fail(ErrorCode::kBadData,
                  "no convolution or matrix product with constant float weights is left to quantise", "",
                  "is the model quantised already? `kinglet inspect` shows its operators");
    }
    observed_ = KINGLET_TRY(observe(float_, full_.values, full_.groups, samples_, progress_));
    if (options_.optimize_rounding) {
      rounding_.emplace(KINGLET_TRY(measure_moments(float_, full_.layers, samples_, progress_)));
    }
    return {};
  }

  Result<void> check_names() const {
    std::vector<std::string_view> names;
    for (const NodeId id : float_.nodes()) {
      if (layer_of(float_, id)) names.push_back(float_.node(id).name);
    }
    return check_layer_names(options_.keep_float, names);
  }

  Result<Trial> trial(std::set<std::string> kept, RangeMethod method, std::size_t most) {
    QuantizationScheme scheme = choose_scheme(float_, kept);
    for (auto& [value, group] : scheme.values) group = full_.values.at(value);
    scheme.groups = full_.groups;
    const QdqOptions qdq{.per_channel = options_.per_channel,
                         .correct_bias = options_.correct_bias,
                         .method = method,
                         .rounding = rounding_ ? &*rounding_ : nullptr};
    Trial out{.graph = KINGLET_TRY(to_qdq(float_, scheme, observed_, qdq)), .kept = std::move(kept), .judgement = {}};
    Session session = KINGLET_TRY(Session::create(Graph(out.graph), {}));
    const Samples some = first_of(samples_, most);
    const Answers after = KINGLET_TRY(answers_of(session, output_, some, progress_));
    const Answers before(answers_.begin(), answers_.begin() + static_cast<std::ptrdiff_t>(some.count));
    out.judgement = KINGLET_TRY(judge(before, output_.meaning, after, output_.meaning, options_.labels));
    return out;
  }

  Result<void> choose_method() {
    report_.method = options_.method;
    if (options_.method != RangeMethod::kAuto) return {};
    double best = 0;
    for (const RangeMethod method : {RangeMethod::kMinMax, RangeMethod::kPercentile, RangeMethod::kMse}) {
      const double found = KINGLET_TRY(trial(options_.keep_float, method, kMostForTrials)).judgement.signal_to_noise_db;
      if (report_.tried.empty() || found > best) {
        best = found;
        report_.method = method;
      }
      report_.tried.emplace_back(method, found);
    }
    return {};
  }

  Result<void> accept(const std::set<std::string>& kept) {
    best_ = KINGLET_TRY(trial(kept, report_.method, samples_.count));
    return {};
  }

  // The noise of each layer alone, worst first.
  Result<void> measure_layers() {
    std::set<std::string> names;
    for (const NodeId id : full_.layers) names.insert(float_.node(id).name);
    std::size_t done = 0;
    for (const NodeId id : full_.layers) {
      const Node& node = float_.node(id);
      std::set<std::string> others = names;
      others.erase(node.name);
      others.insert(options_.keep_float.begin(), options_.keep_float.end());
      progress_("layers", done++, full_.layers.size());
      const Trial alone = KINGLET_TRY(trial(std::move(others), report_.method, kMostForLayers));
      report_.sensitivity.push_back(
          {.name = node.name, .op_type = node.op_type, .signal_to_noise_db = alone.judgement.signal_to_noise_db});
    }
    std::ranges::stable_sort(report_.sensitivity, {}, &LayerNoise::signal_to_noise_db);
    return {};
  }

  std::set<std::string> worst(std::size_t count) const {
    std::set<std::string> kept = options_.keep_float;
    for (std::size_t i = 0; i < count; ++i) kept.insert(report_.sensitivity[i].name);
    return kept;
  }

  // The fewest of the worst layers that must stay float; the answers are taken to get no worse with each more.
  Result<void> keep_layers() {
    KINGLET_TRY(measure_layers());
    std::size_t too_few = 0;
    std::size_t enough = report_.sensitivity.size();
    while (enough - too_few > 1) {
      const std::size_t count = too_few + (enough - too_few) / (too_few == 0 && enough > 4 ? 4 : 2);
      Trial found = KINGLET_TRY(trial(worst(count), report_.method, samples_.count));
      const double drop = found.judgement.judged_drop_percent();
      const bool holds = drop <= *options_.max_drop;
      if (holds || drop < best_.judgement.judged_drop_percent()) best_ = std::move(found);
      (holds ? enough : too_few) = count;
    }
    return {};
  }

  const Samples& samples_;
  const QuantizeOptions& options_;
  const Progress& progress_;
  Graph float_;
  OutputMeaning output_;
  Answers answers_;
  QuantizationScheme full_;
  Observation observed_;
  std::optional<Rounding> rounding_;
  Trial best_;
  QuantizeReport report_;
};

}  // namespace

Result<QuantizedModel> quantize_model(const Graph& graph, const Samples& samples, const QuantizeOptions& options,
                                      const Progress& progress) {
  return Quantizer(samples, options, progress).run(graph);
}

}  // namespace kinglet::engine
