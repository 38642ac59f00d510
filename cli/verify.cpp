// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet verify`: do two models, or a model and stored tensors, give the same numbers? And is a recipe right?
// Exit code 1 says no.
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <ranges>
#include <utility>

#include "cli/command.h"
#include "cli/npy.h"
#include "cli/picture_files.h"
#include "cli/picture_pipeline.h"
#include "cli/verify_recipe.h"
#include "engine/base/format.h"
#include "engine/onnx/suite.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;
using engine::DataType;
using engine::Session;
using engine::Tensor;
using engine::TensorInfo;

struct Options {
  ModelOptions a;
  std::string b;
  std::vector<std::string> reference;
  std::vector<std::string> images;
  std::string suite;
  std::string only;
  bool run_suite = false;
  bool try_recipe = false;  // --recipe stands beside a model alone
  int inputs = 4;
  double tolerance = 1e-4;
};

// How far two sets of outputs are apart, over all inputs tried.
struct Difference {
  int inputs = 0;
  double max_error = 0;
  std::string where;  // of the largest: output, element and both numbers
  int top1_compared = 0;
  int top1_same = 0;
};

// Integers as they are: a step of an 8-bit output counts as 1.
std::vector<float> numbers_of(const Tensor& tensor) {
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(tensor.element_count()));
  for_each_number(tensor, [&](auto number) { out.push_back(static_cast<float>(number)); });
  return out;
}

void compare(const Tensor& expected, const Tensor& got, const std::string& name, Difference& out) {
  const std::vector<float> a = numbers_of(expected);
  const std::vector<float> b = numbers_of(got);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double error = std::abs(static_cast<double>(a[i]) - b[i]);
    const bool both_nan = std::isnan(a[i]) && std::isnan(b[i]);
    const double counted = both_nan ? 0 : std::isnan(error) ? INFINITY : error;
    if (counted > out.max_error) {
      out.max_error = counted;
      out.where = format_text("output \"{}\", element {}: {:.9g} and {:.9g}", name, i, a[i], b[i]);
    }
  }
  if (a.size() < 2) return;
  ++out.top1_compared;
  if (std::ranges::max_element(a) - a.begin() == std::ranges::max_element(b) - b.begin()) ++out.top1_same;
}

std::string describe_tensor(const TensorInfo& info) {
  return format_text("\"{}\" {} {}", info.name, to_string(info.type), engine::to_string(info.shape));
}

Result<void> check_same_border(const std::vector<TensorInfo>& a, const std::vector<TensorInfo>& b,
                               std::string_view kind) {
  if (a.size() != b.size()) {
    return fail(ErrorCode::kBadData, format_text("the models have {} and {} {}s", a.size(), b.size(), kind), "verify");
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].type != b[i].type || a[i].shape != b[i].shape) {
      return fail(ErrorCode::kBadData,
                  format_text("{} {} is {} in the first model and {} in the second", kind, i, describe_tensor(a[i]),
                              describe_tensor(b[i])),
                  "verify");
    }
  }
  return {};
}

Result<Tensor> random_tensor(const TensorInfo& info, std::mt19937& random) {
  Tensor tensor(info.type, info.shape);
  if (info.type == DataType::kF32) {
    std::normal_distribution<float> normal;
    for (float& value : tensor.mutable_data<float>()) value = normal(random);
  } else if (info.type == DataType::kU8 || info.type == DataType::kI8) {
    for (std::byte& value : tensor.mutable_bytes()) value = static_cast<std::byte>(random());
  } else {
    return fail(ErrorCode::kUsage, format_text("made-up inputs for {} are not possible", describe_tensor(info)),
                "verify", "use --reference with stored tensors");
  }
  return tensor;
}

Result<void> run_both(Session& a, Session& b, Difference& difference) {
  KINGLET_TRY(a.run());
  KINGLET_TRY(b.run());
  for (std::size_t i = 0; i < a.outputs().size(); ++i) {
    compare(a.get_output(i), b.get_output(i), a.outputs()[i].name, difference);
  }
  ++difference.inputs;
  return {};
}

Result<Difference> compare_on_random(const Options& options) {
  ModelOptions both = options.a;
  KINGLET_TRY(share_workers(both));
  Session a = KINGLET_TRY(Session::open(options.a.model, session_options(both)));
  Session b = KINGLET_TRY(Session::open(options.b, session_options(both)));
  KINGLET_TRY(check_same_border(a.inputs(), b.inputs(), "input"));
  KINGLET_TRY(check_same_border(a.outputs(), b.outputs(), "output"));
  Difference difference;
  for (int seed = 1; seed <= options.inputs; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    for (std::size_t i = 0; i < a.inputs().size(); ++i) {
      const Tensor tensor = KINGLET_TRY(random_tensor(a.inputs()[i], random));
      KINGLET_TRY(a.set_input(i, tensor));
      KINGLET_TRY(b.set_input(i, tensor));
    }
    KINGLET_TRY(run_both(a, b, difference));
  }
  return difference;
}

Result<Difference> compare_on_images(const Options& options, Output& out) {
  ModelOptions first = options.a;
  first.precision = "float32";
  KINGLET_TRY(share_workers(first));
  ModelOptions second = first;
  second.model = options.b;
  const std::vector<std::string> pictures = KINGLET_TRY(expand_pictures(options.images));
  PicturePipeline a = KINGLET_TRY(PicturePipeline::open(first, out));
  PicturePipeline b = KINGLET_TRY(PicturePipeline::open(second, out));
  KINGLET_TRY(check_same_border(a.model().session().outputs(), b.model().session().outputs(), "output"));
  Difference difference;
  for (const std::string& picture : pictures) {
    out.progress(picture, static_cast<std::uint64_t>(difference.inputs), pictures.size());
    const std::string bytes = KINGLET_TRY(read_picture(picture));
    const Result<PictureResult> prepared = a.prepare(std::as_bytes(std::span(bytes)));
    if (!prepared) {
      out.warn(describe(with_context(prepared.error(), picture)) + " (left out)");
      continue;
    }
    KINGLET_TRY(b.prepare(std::as_bytes(std::span(bytes))));
    KINGLET_TRY(run_both(a.model().session(), b.model().session(), difference));
  }
  out.end_progress();
  if (difference.inputs == 0) return fail(ErrorCode::kBadData, "no picture could be used", pictures.front());
  return difference;
}

Result<Difference> compare_with_reference(const Options& options) {
  Session session = KINGLET_TRY(Session::open(options.a.model, session_options(options.a)));
  const Tensor input = KINGLET_TRY(read_npy(options.reference[0]));
  const Tensor expected = KINGLET_TRY(read_npy(options.reference[1]));
  const Result<void> set = session.set_input(0, input);
  if (!set) return std::unexpected(with_context(set.error(), options.reference[0]));
  KINGLET_TRY(session.run());
  const Tensor got = session.get_output(0);
  if (got.shape() != expected.shape() || got.type() != expected.type()) {
    return fail(ErrorCode::kBadData,
                format_text("holds {} {}, the model's output is {}", to_string(expected.type()),
                            engine::to_string(expected.shape()), describe_tensor(session.outputs().front())),
                options.reference[1]);
  }
  Difference difference{.inputs = 1};
  compare(expected, got, session.outputs().front().name, difference);
  return difference;
}

int report(const Difference& difference, const Options& options, Output& out) {
  const bool same = difference.max_error <= options.tolerance;
  if (out.json()) {
    out.print_json({{"same", same},
                    {"inputs", difference.inputs},
                    {"max_error", difference.max_error},
                    {"tolerance", options.tolerance},
                    {"top1_compared", difference.top1_compared},
                    {"top1_same", difference.top1_same},
                    {"largest", difference.where}});
    return same ? 0 : 1;
  }
  out.print(format_text("{}: largest difference {:.3g}, allowed {:.3g}, on {} input{}; same best class {} of {}\n",
                        same ? out.styled("same", Style::kGood) : out.styled("different", Style::kBad),
                        difference.max_error, options.tolerance, difference.inputs, difference.inputs == 1 ? "" : "s",
                        difference.top1_same, difference.top1_compared));
  if (!same) out.print(difference.where + "\n");
  return same ? 0 : 1;
}

Result<int> run_suite(const Options& options, Output& out) {
  const std::filesystem::path data =
      options.suite.empty() ? engine::suite_data_folder() : std::filesystem::path(options.suite);
  if (data.empty()) {
    return fail(ErrorCode::kUnavailable, "ONNX's test data is not installed", "verify",
                "apt install libonnx-testdata, or name a folder");
  }
  const engine::SuiteReport suite = KINGLET_TRY(engine::run_suite({.data = data, .only = options.only}));
  const std::size_t failed = suite.count(engine::CaseOutcome::kFailed);
  Json failures = Json::array();
  Json saturated = Json::array();
  for (const engine::CaseResult& result : suite.cases) {
    if (result.outcome == engine::CaseOutcome::kOutOfScope)
      out.detail(format_text("out of scope {}: {}", result.name, result.reason));
    if (result.outcome == engine::CaseOutcome::kSaturated) saturated.push_back(result.name);
    if (result.outcome != engine::CaseOutcome::kFailed) continue;
    failures.push_back({{"name", result.name}, {"reason", result.reason}});
    if (!out.json()) out.print(format_text("failed {}: {}\n", result.name, result.reason));
  }
  const std::size_t passed = suite.count(engine::CaseOutcome::kPassed);
  const std::size_t out_of_scope = suite.count(engine::CaseOutcome::kOutOfScope);
  const std::size_t in_scope = suite.in_scope();
  if (out.json()) {
    Json reasons = Json::object();
    for (const auto& [reason, count] : suite.out_of_scope()) reasons[reason] = count;
    out.print_json({{"in_scope", in_scope},
                    {"passed", passed},
                    {"saturated", std::move(saturated)},
                    {"failed", failed},
                    {"failures", std::move(failures)},
                    {"out_of_scope", out_of_scope},
                    {"reasons", std::move(reasons)}});
    return failed == 0 ? 0 : 1;
  }
  out.print(format_text("{} cases in scope: {} passed, {} failed", in_scope, passed + saturated.size(), failed));
  if (!saturated.empty()) {
    out.print(
        format_text("; of those passed, {} stop at -128 or 127 as ONNX's text says, where the stored answer wraps",
                    saturated.size()));
  }
  out.print("\n");
  out.print(format_text("{} cases out of scope\n", out_of_scope));
  for (const auto& [reason, count] : suite.out_of_scope()) out.print(format_text("{:6}  {}\n", count, reason));
  return failed == 0 ? 0 : 1;
}

Result<int> check_recipe(Options options, Output& out) {
  // `--recipe MODEL` can only be meant as the model with its own recipe.
  if (options.a.model.empty()) options.a.model = std::exchange(options.a.recipe, "");
  if (options.a.model.empty() || options.images.empty()) {
    return fail(ErrorCode::kUsage, "--recipe without a second model tries it on pictures: a model and --images",
                "verify", "kinglet verify bird.onnx --recipe --images photos/");
  }
  return verify_recipe(options.a, options.images, out);
}

Result<int> verify(const Options& options, Output& out) {
  if (options.run_suite) return run_suite(options, out);
  if (options.try_recipe) return check_recipe(options, out);
  if (options.a.model.empty() || options.b.empty() == options.reference.empty()) {
    return fail(ErrorCode::kUsage,
                "expected two models, or one model and --reference INPUT OUTPUT or --recipe, or --suite", "verify",
                "`kinglet verify --help` shows an example");
  }
  const Difference difference = KINGLET_TRY(!options.reference.empty() ? compare_with_reference(options)
                                            : options.images.empty()   ? compare_on_random(options)
                                                                       : compare_on_images(options, out));
  return report(difference, options, out);
}

}  // namespace

Body verify_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("A", options->a.model, "an ONNX file")->type_name("");
  app.add_option("B", options->b, "another with the same inputs and outputs")->type_name("");
  app.add_option("--reference", options->reference, "stored tensors instead of B: INPUT.npy OUTPUT.npy")
      ->expected(2)
      ->type_name("FILE");
  app.add_option("--images", options->images, "compare on pictures (files, folders), prepared by A's recipe")
      ->type_name("DIR");
  app.add_option("--inputs", options->inputs, "made-up inputs to compare on (default 4)")
      ->check(CLI::Range(1, 10'000))
      ->option_text("N");
  app.add_option("--tolerance", options->tolerance, "largest absolute difference allowed (default 1e-4)")
      ->check(CLI::Range(0.0, 1e9))
      ->option_text("X");
  add_labels_option(app, options->a);
  auto* recipe = app.add_option("--recipe", options->a.recipe,
                                "without B: what the usual mistakes of preprocessing would change on --images, and "
                                "whether the recipe (A's own, a file, a preset) is one; with B: prepares --images")
                     ->type_name("FILE")
                     ->expected(0, 1);
  add_threads_option(app, options->a);
  auto* suite =
      app.add_option("--suite", options->suite, "run ONNX's own test data (default: where Debian installs it)")
          ->type_name("DIR")
          ->expected(0, 1);
  app.add_option("--only", options->only, "cases of the suite whose name contains this")
      ->type_name("TEXT")
      ->needs(suite);
  return [options, suite, recipe](Output& out) {
    options->run_suite = suite->count() > 0;
    options->try_recipe = recipe->count() > 0 && options->b.empty() && options->reference.empty();
    return verify(*options, out);
  };
}

}  // namespace kinglet::cli
