// SPDX-License-Identifier: Apache-2.0
// Why: the least that the HTTP library can do: one handler that answers a constant. What kingletd adds is measured
// against it.
//
//   bare_handler FILE     answers every GET with the file's bytes; prints its port; ends with its standard input
#include <httplib.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <string>
#include <thread>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: bare_handler FILE\n";
    return 64;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string body{std::istreambuf_iterator<char>(file), {}};
  httplib::Server server;
  // Without it each answer waits 40 ms for the other side to acknowledge its head.
  server.set_tcp_nodelay(true);
  server.Get(".*", [&](const httplib::Request& /*request*/, httplib::Response& response) {
    response.set_content(body, "application/json");
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  if (port <= 0) {
    std::cerr << "bare_handler: no port on 127.0.0.1\n";
    return 69;
  }
  std::cout << port << '\n' << std::flush;
  std::jthread until_the_end([&] {
    std::cin.ignore(std::numeric_limits<std::streamsize>::max());
    server.stop();
  });
  server.listen_after_bind();
  return 0;
}
