// SPDX-License-Identifier: Apache-2.0
#include "cli/each_picture.h"

#include <utility>

namespace kinglet::cli {

using Json = nlohmann::ordered_json;

void add_pictures_argument(CLI::App& app, std::vector<std::string>& pictures) {
  app.add_option("IMAGE", pictures, "JPEG or PNG files, folders of them, or - for standard input")
      ->required()
      ->type_name("");
}

int look_at_each(const std::vector<std::string>& pictures, Json model, Output& out,
                 const std::function<Result<Json>(const std::string& name)>& look) {
  Json results = Json::array();
  int code = 0;
  std::size_t done = 0;
  for (const std::string& name : pictures) {
    out.progress(name, done++, pictures.size());
    Result<Json> found = look(name);
    if (!found) {
      if (found.error().where != name) {
        found = std::unexpected(with_context(found.error(), name == "-" ? "standard input" : name));
      }
      out.error(found.error());
      if (code == 0) code = exit_code(found.error().code);
      found = Json{{"file", name}, {"problem", problem(found.error())}};
    }
    if (out.json()) results.push_back(std::move(*found));
  }
  out.end_progress();
  if (out.json()) out.print_json({{"model", std::move(model)}, {"pictures", std::move(results)}});
  return code;
}

}  // namespace kinglet::cli
