// SPDX-License-Identifier: BSD-3-Clause
#include "web_driver.hpp"

#include "support/command_output.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <curl/curl.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace cinnabar::test {
namespace {

using Json = nlohmann::json;

constexpr int start_ms = 30'000;
constexpr long answer_seconds = 60;

// The driver prints the port on which it listens.
pid_t start_driver(const std::string& folder, UniqueFd& out) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    const pid_t child = ::fork();
    if (child == 0) {
        (void)::dup2(pipe[1], STDOUT_FILENO);
        (void)::dup2(pipe[1], STDERR_FILENO);
        (void)::setenv("HOME", folder.c_str(), 1);
        (void)::setenv("TMPDIR", folder.c_str(), 1);
        (void)::prctl(PR_SET_PDEATHSIG, SIGTERM);
        (void)::execlp("chromedriver", "chromedriver", "--port=0", nullptr);
        ::_exit(127);
    }
    (void)::close(pipe[1]);
    out.reset(pipe[0]);
    return child;
}

std::string port_of(const UniqueFd& out) {
    std::string text;
    std::array<char, 4'096> some{};
    const std::string before = "successfully on port ";
    for (pollfd wanted{out.get(), POLLIN, 0}; ::poll(&wanted, 1, start_ms) > 0;) {
        const ssize_t count = ::read(out.get(), some.data(), some.size());
        if (count <= 0) break;
        text.append(some.data(), static_cast<std::size_t>(count));
        const auto at = text.find(before);
        if (at == std::string::npos) continue;
        const auto begin = at + before.size();
        const auto end = text.find_first_not_of("0123456789", begin);
        if (end != std::string::npos) return text.substr(begin, end - begin);
    }
    throw std::runtime_error("chromedriver did not start: " + text);
}

std::size_t append(char* data, std::size_t size, std::size_t count, void* text) {
    static_cast<std::string*>(text)->append(data, size * count);
    return size * count;
}

std::string decoded(const std::string& base64) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    unsigned value = 0;
    unsigned bits = 0;
    for (const char c : base64) {
        const auto digit = digits.find(c);
        if (digit == std::string_view::npos) break;
        value = value << 6 | static_cast<unsigned>(digit);
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        bytes += static_cast<char>(value >> bits & 0xff);
    }
    return bytes;
}

}  // namespace

bool WebDriver::is_here() {
    return !support::output_of("command -v chromedriver && (command -v chromium || command -v google-chrome)").empty();
}

WebDriver::WebDriver() {
    UniqueFd out;
    driver_ = start_driver(folder_.path().string(), out);
    const std::string base = "http://127.0.0.1:" + port_of(out) + "/session";
    const Json chrome{{"args",
                       {"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                        "--hide-scrollbars", "--user-data-dir=" + folder_.at("profile")}}};
    const Json always{
        {"browserName", "chrome"}, {"goog:chromeOptions", chrome}, {"goog:loggingPrefs", {{"browser", "ALL"}}}};
    const Json made = request("POST", base, Json{{"capabilities", {{"alwaysMatch", always}}}}.dump());
    session_ = base + "/" + made.at("sessionId").get<std::string>();
}

// Ending the session also ends the browser; ending only the driver would leave the browser running.
WebDriver::~WebDriver() {
    try {
        if (!session_.empty()) (void)request("DELETE", session_, {});
    } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
    }
    if (driver_ > 0) {
        (void)::kill(driver_, SIGTERM);
        (void)::waitpid(driver_, nullptr, 0);
    }
}

Json WebDriver::request(const char* verb, const std::string& url, const std::string& body) {
    const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), &curl_easy_cleanup);
    std::unique_ptr<curl_slist, void (*)(curl_slist*)> head(
        curl_slist_append(nullptr, "Content-Type: application/json"), &curl_slist_free_all);
    std::string answer;
    curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl.get(), CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl.get(), CURLOPT_CUSTOMREQUEST, verb);
    curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, head.get());
    curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, answer_seconds);
    curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &append);
    curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer);
    if (!body.empty()) curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, body.c_str());
    if (const CURLcode code = curl_easy_perform(curl.get()); code != CURLE_OK)
        throw std::runtime_error(url + ": " + curl_easy_strerror(code));
    const Json value = Json::parse(answer).at("value");
    if (value.is_object() && value.contains("error"))
        throw std::runtime_error(url + ": " + value.value("message", answer));
    return value;
}

Json WebDriver::command(const std::string& path, const Json& body) {
    return request("POST", session_ + path, body.dump());
}

Json WebDriver::devtools(const char* name, const Json& parameters) {
    return command("/goog/cdp/execute", {{"cmd", name}, {"params", parameters}});
}

void WebDriver::look(const Look& look) {
    constexpr unsigned height = 800;
    constexpr unsigned phone = 600;
    (void)devtools(
        "Emulation.setDeviceMetricsOverride",
        {{"width", look.width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", look.width < phone}});
    const Json scheme{{"name", "prefers-color-scheme"}, {"value", look.dark ? "dark" : "light"}};
    (void)devtools("Emulation.setEmulatedMedia", {{"features", Json::array({scheme})}});
}

void WebDriver::open(const std::string& url) { (void)command("/url", {{"url", url}}); }

Json WebDriver::run(const std::string& script) {
    return command("/execute/sync", {{"script", script}, {"args", Json::array()}});
}

Json WebDriver::errors() {
    Json errors = Json::array();
    for (const Json& line : command("/se/log", {{"type", "browser"}})) {
        if (line.at("level") == "SEVERE" || line.at("level") == "WARNING") errors.push_back(line.at("message"));
    }
    return errors;
}

void WebDriver::picture(const std::string& path) {
    const Json size = devtools("Page.getLayoutMetrics", Json::object()).at("cssContentSize");
    const Json clip{{"x", 0}, {"y", 0}, {"width", size.at("width")}, {"height", size.at("height")}, {"scale", 1}};
    const Json shot = devtools("Page.captureScreenshot", {{"captureBeyondViewport", true}, {"clip", clip}});
    std::ofstream(path, std::ios::binary) << decoded(shot.at("data").get<std::string>());
}

}  // namespace cinnabar::test
