# Homebrew formula; install/formula.sh fills in the repository, the version and the checksums for a release.
class Headspace < Formula
  desc "Which of your Claude Code sessions needs you now, and why"
  homepage "https://github.com/OWNER/headspace"
  version "VERSION"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "https://github.com/OWNER/headspace/releases/download/v#{version}/headspace-aarch64-apple-darwin.tar.gz"
      sha256 "SHA256_AARCH64_APPLE_DARWIN"
    end
    on_intel do
      url "https://github.com/OWNER/headspace/releases/download/v#{version}/headspace-x86_64-apple-darwin.tar.gz"
      sha256 "SHA256_X86_64_APPLE_DARWIN"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/OWNER/headspace/releases/download/v#{version}/headspace-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "SHA256_AARCH64_UNKNOWN_LINUX_GNU"
    end
    on_intel do
      url "https://github.com/OWNER/headspace/releases/download/v#{version}/headspace-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "SHA256_X86_64_UNKNOWN_LINUX_GNU"
    end
  end

  def install
    bin.install "headspace"
    generate_completions_from_executable(bin/"headspace", "completions")
  end

  service do
    run [opt_bin/"headspace", "serve"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/headspace --version")
  end
end
