// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet run`: tensors in (.npy, a picture by the recipe, or made up from a seed), raw tensors out as .npy: for
// comparing with any other program.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/made_input.h"
#include "cli/npy.h"
#include "cli/picture_files.h"
#include "cli/picture_pipeline.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;
using engine::TensorInfo;

struct Options {
  ModelOptions model;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::string picture;
  std::int64_t seed = -1;  // below 0: nothing is made up
  bool force = false;
};

struct Assignment {
  std::string name;  // empty: the only one there is
  std::string file;
};

Assignment split(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Result<std::size_t> index_of(const std::vector<TensorInfo>& tensors, const std::string& name, std::string_view kind) {
  std::vector<std::string_view> names;
  std::string listed;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name == name || (name.empty() && tensors.size() == 1)) return i;
    names.push_back(tensors[i].name);
    listed += format_text("{}{}", listed.empty() ? "" : ", ", tensors[i].name);
  }
  const std::string_view nearest = nearest_name(name, names);
  return fail(
      ErrorCode::kUsage,
      name.empty() ? format_text("the model has {} {}s: name one", tensors.size(), kind)
                   : format_text("the model has no {} \"{}\"", kind, printable(name)),
      "run",
      nearest.empty() ? format_text("{}s: {}", kind, printable(listed)) : format_text("did you mean {}?", nearest));
}

Result<void> set_inputs(engine::Session& session, const Options& options) {
  std::vector<bool> set(session.inputs().size(), false);
  for (const std::string& text : options.inputs) {
    const Assignment assignment = split(text);
    const std::size_t index = KINGLET_TRY(index_of(session.inputs(), assignment.name, "input"));
    const engine::Tensor tensor = KINGLET_TRY(read_npy(assignment.file));
    const TensorInfo& info = session.inputs()[index];
    if (tensor.type() != info.type || tensor.shape() != info.shape) {
      return fail(ErrorCode::kBadData,
                  format_text("holds {} {}, the input \"{}\" is {} {}", to_string(tensor.type()),
                              engine::to_string(tensor.shape()), info.name, to_string(info.type),
                              engine::to_string(info.shape)),
                  assignment.file);
    }
    KINGLET_TRY(session.set_input(index, tensor));
    set[index] = true;
  }
  if (options.seed >= 0) {
    std::mt19937 random(static_cast<std::uint32_t>(options.seed));
    for (std::size_t i = 0; i < set.size(); ++i) {
      const engine::Tensor tensor = made_tensor(session.inputs()[i], random);
      if (!set[i]) KINGLET_TRY(session.set_input(i, tensor));
    }
    return {};
  }
  const auto missing = std::ranges::find(set, false);
  if (missing == set.end()) return {};
  const TensorInfo& info = session.inputs()[static_cast<std::size_t>(missing - set.begin())];
  return fail(ErrorCode::kUsage, format_text("the input \"{}\" is not given", info.name), "run",
              format_text("add --input {}=FILE.npy ({} {}), --image or --made-up", info.name, to_string(info.type),
                          engine::to_string(info.shape)));
}

Result<void> check_usage(const Options& options) {
  const bool given = !options.inputs.empty() || options.seed >= 0;
  if (options.picture.empty() || !given) return {};
  return fail(ErrorCode::kUsage, "--image is the whole input: it goes with neither --input nor --made-up", "run");
}

// The session with its input filled.
Result<engine::Session> filled_session(const Options& options, Output& out) {
  if (options.picture.empty()) {
    auto session = KINGLET_TRY(engine::Session::open(options.model.model, session_options(options.model)));
    KINGLET_TRY(set_inputs(session, options));
    return session;
  }
  PicturePipeline pipeline = KINGLET_TRY(PicturePipeline::open(options.model, out));
  const std::string bytes = KINGLET_TRY(read_picture(options.picture));
  const auto prepared = pipeline.prepare(std::as_bytes(std::span(bytes)));
  if (!prepared) return std::unexpected(with_context(prepared.error(), options.picture));
  return std::move(pipeline.model().session());
}

Result<int> run(const Options& options, Output& out) {
  KINGLET_TRY(check_usage(options));
  engine::Session session = KINGLET_TRY(filled_session(options, out));
  std::vector<std::pair<std::size_t, std::string>> targets;
  for (const std::string& text : options.outputs) {
    const Assignment assignment = split(text);
    targets.emplace_back(KINGLET_TRY(index_of(session.outputs(), assignment.name, "output")), assignment.file);
  }
  const auto to_stdout = std::ranges::count(targets, "-", &std::pair<std::size_t, std::string>::second);
  if (to_stdout > 1 || (to_stdout == 1 && out.json())) {
    return fail(ErrorCode::kUsage, "standard output can take one tensor, or JSON, and nothing else", "run",
                "write the others to files");
  }
  KINGLET_TRY(session.run());
  for (const auto& [index, file] : targets) {
    const std::string bytes = to_npy(session.get_output(index));
    if (file == "-") {
      out.print(bytes);
    } else {
      KINGLET_TRY(write_file(file, bytes, options.force ? Overwrite::kReplace : Overwrite::kRefuse));
    }
  }
  if (out.json()) {
    Json outputs = Json::array();
    for (const TensorInfo& info : session.outputs()) {
      outputs.push_back({{"name", info.name}, {"type", to_string(info.type)}, {"shape", info.shape}});
    }
    out.print_json({{"model", options.model.model}, {"outputs", std::move(outputs)}});
  } else if (targets.empty()) {
    Table table({"OUTPUT", "TYPE", "SHAPE", ">MIN", ">MAX"});
    for (std::size_t i = 0; i < session.outputs().size(); ++i) {
      const TensorInfo& info = session.outputs()[i];
      std::string low;
      std::string high;
      if (info.type == engine::DataType::kF32) {
        const engine::Tensor tensor = session.get_output(i);
        const auto [least, most] = std::ranges::minmax(tensor.data<float>());
        low = format_text("{:.6g}", least);
        high = format_text("{:.6g}", most);
      }
      table.add({info.name, std::string(to_string(info.type)), engine::to_string(info.shape), low, high});
    }
    out.print(table.text(out));
  }
  return 0;
}

}  // namespace

Body run_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_model_argument(app, options->model);
  app.add_option("--input", options->inputs, "a tensor for an input (the name may be left out when there is one)")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--output", options->outputs, "where an output goes; - is stdout")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--image", options->picture, "a picture as input, prepared by the recipe; - is stdin")
      ->type_name("FILE");
  app.add_option("--made-up", options->seed, "make up the inputs that are not given, from this seed")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{4294967295}))
      ->option_text("SEED");
  app.add_flag("--force", options->force, "replace output files that are there");
  add_picture_options(app, options->model);
  return [options](Output& out) { return run(*options, out); };
}

}  // namespace kinglet::cli
