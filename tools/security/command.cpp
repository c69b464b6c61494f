// SPDX-License-Identifier: BSD-3-Clause
#include "security/command.hpp"

#include "security/certificates.hpp"
#include "security/revocations.hpp"
#include "security/shared_key.hpp"
#include "terminal/report.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace cinnabar::tools::security {
namespace {

using Run = std::function<ExitCode()>;

struct CertificateOptions {
    std::string authority;
    std::string into;  // empty: the authority's folder
    Subject subject;
    unsigned days = 365;
};

ExitCode told(const Result<void>& made, const std::string& what) {
    if (!made) {
        complain(made.error().message());
        return exit_code(made.code());
    }
    print_line(what);
    return ExitCode::ok;
}

void add_key(CLI::App& app, Run& run) {
    auto& key = *app.add_subcommand("key", "Make shared keys for tcps, ofis and verbss");
    key.require_subcommand(1);
    auto& command = *key.add_subcommand("new", "Make a key in a new file: cinnabar key new FILE");
    const auto path = std::make_shared<std::string>();
    const auto name = std::make_shared<std::string>();
    command.add_option("FILE", *path, "The file to make, which only you can read")->required();
    command.add_option("--name", *name,
                       "The name under which the other side sees the holder of the key (default: the file's name)");
    command.callback([path, name, &run] {
        run = [path, name] {
            const std::string called = name->empty() ? name_for_file(*path) : *name;
            return told(make_shared_key(*path, called),
                        fmt::format("{}: the key \"{}\"; copy it to the other side over a secure channel, such as "
                                    "scp",
                                    *path, called));
        };
    });
}

void add_authority(CLI::App& cert, Run& run) {
    auto& command = *cert.add_subcommand("ca", "Make an authority, which signs certificates: cinnabar cert ca FOLDER");
    const auto options = std::make_shared<CertificateOptions>();
    options->days = 3650;
    options->subject.name = "cinnabar-ca";
    command.add_option("FOLDER", options->authority, "The folder for ca.pem and ca.key; created if it does not exist")
        ->required();
    command.add_option("--name", options->subject.name, "Name of the CA")->capture_default_str();
    command.add_option("--days", options->days, "Days until it expires")
        ->capture_default_str()
        ->check(CLI::Range(1u, 36'500u));
    command.callback([options, &run] {
        run = [options] {
            return told(
                make_authority(options->authority, options->subject.name, valid_for(std::chrono::days(options->days))),
                fmt::format("give {0}/ca.pem to all peers; keep {0}/ca.key secret", options->authority));
        };
    });
}

void add_certificate(CLI::App& cert, Run& run, const char* kind, bool serves) {
    auto& command =
        *cert.add_subcommand(kind, fmt::format("Make a certificate for a {0}: cinnabar cert {0} FOLDER NAME", kind));
    const auto options = std::make_shared<CertificateOptions>();
    options->subject.serves = serves;
    command.add_option("FOLDER", options->authority, "Where the authority is")->required();
    command.add_option("NAME", options->subject.name, "The name that peers see")->required();
    command.add_option("-o,--output", options->into, "The folder for NAME.pem and NAME.key (default: FOLDER)")
        ->type_name("DIR");
    command.add_option("--days", options->days, "Days until it expires")
        ->capture_default_str()
        ->check(CLI::Range(1u, 36'500u));
    auto* const hosts = command.add_option("--host", options->subject.hosts,
                                           "A name or IP address of the server; may be given several times");
    if (serves) hosts->required();
    command.callback([options, &run] {
        run = [options] {
            const std::string into = options->into.empty() ? options->authority : options->into;
            return told(make_certificate(options->authority, into, options->subject,
                                         valid_for(std::chrono::days(options->days))),
                        fmt::format("--cert {0}/{1}.pem --cert-key {0}/{1}.key --ca {2}/ca.pem", into,
                                    options->subject.name, options->authority));
        };
    });
}

// A name without a slash is a certificate in the authority's folder; with a slash it is a path.
std::string certificate_path(const std::string& authority, const std::string& named) {
    return named.find('/') == named.npos ? authority + "/" + named + ".pem" : named;
}

void add_revocation(CLI::App& cert, Run& run) {
    auto& command = *cert.add_subcommand("revoke", "Revoke certificates: cinnabar cert revoke FOLDER NAME...");
    const auto authority = std::make_shared<std::string>();
    const auto named = std::make_shared<std::vector<std::string>>();
    command.add_option("FOLDER", *authority, "Where the authority is")->required();
    command.add_option("NAME", *named,
                       "Names of certificates in FOLDER, or paths of others; none: the list is only "
                       "signed anew");
    command.callback([authority, named, &run] {
        run = [authority, named] {
            std::vector<std::string> paths;
            for (const std::string& each : *named) paths.push_back(certificate_path(*authority, each));
            return told(revoke(*authority, paths),
                        fmt::format("give {}/ca.crl to everybody that trusts this authority (--crl)", *authority));
        };
    });
}

}  // namespace

void add_commands(CLI::App& app, Run& run) {
    add_key(app, run);
    auto& cert = *app.add_subcommand(
        "cert", "Make certificates for tcps, ofis and verbss with a small authority, for labs and tests");
    cert.require_subcommand(1);
    add_authority(cert, run);
    add_certificate(cert, run, "server", true);
    add_certificate(cert, run, "client", false);
    add_revocation(cert, run);
}

void add_tls_options(CLI::App& command, na::TlsOptions& tls) {
    command.add_option("--key-file", tls.key_file, "tcps, ofis, verbss: the key to prove (cinnabar key)")
        ->type_name("FILE");
    add_certificate_options(command, tls);
}

void add_certificate_options(CLI::App& command, na::TlsOptions& tls) {
    const auto add_file = [&command](const char* name, std::string& path, const char* what) {
        command.add_option(name, path, what)->type_name("FILE");
    };
    add_file("--cert", tls.certificate_file, "tcps, ofis, verbss: your certificate (cinnabar cert)");
    add_file("--cert-key", tls.private_key_file,
             "tcps, ofis, verbss: the key of your certificate, if it is in another file");
    add_file("--ca", tls.ca_file, "tcps, ofis, verbss: the certificates of the CAs that sign those of peers");
    add_file("--crl", tls.crl_file,
             "tcps, ofis, verbss: the lists of certificates that these CAs have revoked (cinnabar cert revoke)");
    command.add_option("--peer-name", tls.peer_name,
                       "tcps, ofis, verbss: the name in the server's certificate (default: the host in its address)");
}

}  // namespace cinnabar::tools::security
