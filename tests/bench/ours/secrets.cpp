// SPDX-License-Identifier: BSD-3-Clause
#include "secrets.hpp"

#include "security/certificates.hpp"
#include "security/shared_key.hpp"

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

class SecretsFolder {
  public:
    SecretsFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "cinnabar-bench-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error{"no folder for keys can be made"};
        path_ = pattern;
        namespace security = tools::security;
        const auto time = security::valid_for(std::chrono::days(1));
        made_.key.key_file = path_ + "/bench.key";
        security::make_shared_key(made_.key.key_file, "bench").value();
        security::make_authority(path_ + "/ca", "bench", time).value();
        made_.server = certificate({"server", {"127.0.0.1"}, true}, time);
        made_.client = certificate({"client", {}, false}, time);
    }
    ~SecretsFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    SecretsFolder(const SecretsFolder&) = delete;
    SecretsFolder& operator=(const SecretsFolder&) = delete;
    [[nodiscard]] const Secrets& made() const noexcept { return made_; }

  private:
    [[nodiscard]] na::TlsOptions certificate(const tools::security::Subject& subject,
                                             const tools::security::Validity& time) const {
        tools::security::make_certificate(path_ + "/ca", path_, subject, time).value();
        na::TlsOptions files;
        files.certificate_file = path_ + "/" + subject.name + ".pem";
        files.private_key_file = path_ + "/" + subject.name + ".key";
        files.ca_file = path_ + "/ca/ca.pem";
        return files;
    }

    std::string path_;
    Secrets made_;
};

}  // namespace

const Secrets& secrets() {
    static const SecretsFolder folder;
    return folder.made();
}

}  // namespace cinnabar::bench
