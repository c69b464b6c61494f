// SPDX-License-Identifier: BSD-3-Clause
// A headless Chromium, driven with W3C's WebDriver through chromedriver. One thread. Errors are std::runtime_error.
#pragma once

#include "support/folder.hpp"

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include <string>

namespace cinnabar::test {

class WebDriver {
  public:
    // Whether both programs are installed. Otherwise tests are skipped and name the missing program.
    [[nodiscard]] static bool is_here();

    WebDriver();
    ~WebDriver();
    WebDriver(const WebDriver&) = delete;
    WebDriver& operator=(const WebDriver&) = delete;

    // How pages are shown from now on. An open page is rendered again.
    struct Look {
        unsigned width = 1280;  // of the window, in CSS pixels
        bool dark = false;
    };
    void look(const Look& look);
    void open(const std::string& url);
    // Runs a function body and returns its value.
    [[nodiscard]] nlohmann::json run(const std::string& script);
    // Errors of the page, its scripts and its requests since the last call.
    [[nodiscard]] nlohmann::json errors();
    // Saves the whole page as PNG.
    void picture(const std::string& path);

  private:
    nlohmann::json command(const std::string& path, const nlohmann::json& body);
    nlohmann::json devtools(const char* name, const nlohmann::json& parameters);
    nlohmann::json request(const char* verb, const std::string& url, const std::string& body);

    support::Folder folder_;  // the browser's profile
    pid_t driver_ = -1;
    std::string session_;  // its URL; empty: there is none
};

}  // namespace cinnabar::test
