// SPDX-License-Identifier: BSD-3-Clause
// A headless Chromium, driven by W3C's WebDriver through chromedriver. One thread. Its errors are std::runtime_error.
#pragma once

#include "support/folder.hpp"

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include <string>

namespace cinnabar::test {

class WebDriver {
  public:
    // Whether both programs are there; what is not is what a test says when it is skipped.
    [[nodiscard]] static bool is_here();

    WebDriver();
    ~WebDriver();
    WebDriver(const WebDriver&) = delete;
    WebDriver& operator=(const WebDriver&) = delete;

    // From now on; a page that is open is drawn anew.
    struct Look {
        unsigned width = 1280;  // of the window, in CSS pixels
        bool dark = false;
    };
    void look(const Look& look);
    void open(const std::string& url);
    // The value that the body of a function returns.
    [[nodiscard]] nlohmann::json run(const std::string& script);
    // Errors that the page, its scripts and its requests have caused since it was asked last.
    [[nodiscard]] nlohmann::json errors();
    // The whole page, as PNG.
    void picture(const std::string& path);

  private:
    nlohmann::json command(const std::string& path, const nlohmann::json& body);
    nlohmann::json devtools(const char* name, const nlohmann::json& parameters);
    nlohmann::json request(const char* verb, const std::string& url, const std::string& body);

    support::Folder folder_;  // what the browser keeps
    pid_t driver_ = -1;
    std::string session_;  // its URL; empty: there is none
};

}  // namespace cinnabar::test
