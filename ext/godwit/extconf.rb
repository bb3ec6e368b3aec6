# frozen_string_literal: true

require "mkmf"

module Godwit
  # The steps that write the Makefile for this machine, in the order in which `configure` runs them.
  module Extconf
    OLDEST_LIBZMQ = "4.3.0"

    HELP = <<~TEXT
      usage: ruby extconf.rb [options]
             gem install godwit -- [options]

      libzmq #{OLDEST_LIBZMQ} or newer is found with pkg-config, else on the compiler's paths.

        --with-libzmq-dir=DIR       the prefix of libzmq (DIR/include, DIR/lib), without pkg-config
        --with-libzmq-include=DIR   zmq.h is in DIR; pkg-config is not asked
        --with-libzmq-lib=DIR       libzmq.so is in DIR; pkg-config is not asked
        --with-static-libzmq=DIR    for the platform gem: DIR/lib has libzmq.a with drafts, and
                                    libsodium.a
        --enable-werror             for godwit's tests: -Wall -Wextra, warnings are errors
        --with-cflags=FLAGS         instead of Ruby's own; likewise --with-ldflags, --with-cppflags
        --help                      this text

      PKG_CONFIG_PATH of the environment is honoured. CC, CFLAGS and LDFLAGS are not: the compiler
      is Ruby's own (RbConfig::CONFIG["CC"]).
    TEXT

    INSTALL = <<~TEXT
      Install libzmq #{OLDEST_LIBZMQ} or newer with its headers:
        Debian, Ubuntu:  apt-get install libzmq3-dev pkg-config
        Fedora, RHEL:    dnf install zeromq-devel pkgconf
        Alpine:          apk add zeromq-dev pkgconf
      If it is there in an unusual place: gem install godwit -- --with-libzmq-dir=/its/prefix
    TEXT

    COMPILER = <<~TEXT
      Install a C compiler, make and the headers of Ruby and libc:
        Debian, Ubuntu:  apt-get install build-essential ruby-dev
        Fedora, RHEL:    dnf install gcc make redhat-rpm-config ruby-devel
        Alpine:          apk add build-base ruby-dev
    TEXT

    class << self
      def configure
        help if ARGV.include?("--help") || ARGV.include?("-h")
        check_system
        check_compiler
        static = with_config("static-libzmq")
        static ? use_static(static) : find_libzmq
        check_libzmq
        set_flags
        create_makefile("godwit/godwit_ext")
      end

      private

      def help
        $makefile_created = true # standard:disable Style/GlobalVars -- else mkmf adds its own error
        puts HELP
        exit 0
      end

      def check_system
        system = RbConfig::CONFIG["host_os"]
        return if system.include?("linux")
        stop "godwit runs on Linux only for now, since it waits with eventfd and epoll: this is " \
          "#{system}."
      end

      def check_compiler
        stop "#{RbConfig::CONFIG["CC"]} compiles nothing here.\n\n#{COMPILER}" unless have_devel?
      end

      def find_libzmq
        # Applies --with-libzmq-*, whose folders have priority over those of pkg-config.
        folders = dir_config("libzmq").compact
        unless folders.empty?
          # The system's own libzmq must not replace the requested one.
          names = folders.flat_map { |dirs| dirs.split(File::PATH_SEPARATOR) }
          if Dir[*names.map { |dir| "#{dir}/{zmq.h,libzmq.*}" }].empty?
            give_up "--with-libzmq-… names folders without zmq.h or libzmq: #{folders.join(", ")}"
          end
          return if on_paths?
        end
        return if pkg_config("libzmq") && have_header("zmq.h")
        give_up "libzmq or its header zmq.h was not found." unless on_paths?
      end

      # g++ links libzmq and the C++ library into the extension, which then needs only glibc. Draft
      # functions are linked, not looked up. libruby.so is not linked: not every Ruby has this file.
      # standard:disable Style/GlobalVars
      def use_static(folder)
        $INCFLAGS << " -I#{folder}/include"
        $defs.push("-DZMQ_BUILD_DRAFT_API", "-DGODWIT_STATIC_LIBZMQ")
        $LIBRUBYARG_SHARED = ""
        $libs = "#{folder}/lib/libzmq.a #{folder}/lib/libsodium.a"
        RbConfig::MAKEFILE_CONFIG["LDSHARED"] = "$(CXX) -shared -static-libstdc++ -static-libgcc"
        $DLDFLAGS << " -Wl,--version-script=$(srcdir)/exports"
      end
      # standard:enable Style/GlobalVars

      def on_paths?
        have_header("zmq.h") && have_library("zmq", "zmq_ctx_new", "zmq.h")
      end

      # Checks the version in zmq.h; lib/godwit/backend/native.rb checks the loaded library's.
      def check_libzmq
        return if checking_for("libzmq >= #{OLDEST_LIBZMQ}") { try_compile(<<~C) }
          #include <zmq.h>
          #if ZMQ_VERSION < ZMQ_MAKE_VERSION(#{OLDEST_LIBZMQ.tr(".", ",")})
          #error too old
          #endif
        C
        give_up "libzmq was found, but it is older than #{OLDEST_LIBZMQ}."
      end

      def set_flags
        append_cflags(%w[-std=gnu11 -fvisibility=hidden]) # exports only Init_godwit_ext
        return unless enable_config("werror", false)
        # The flags are set after all checks, whose test programs cause warnings. Unused parameters
        # are allowed, since many methods do not use their `self`.
        warnings = " -Wall -Wextra -Wno-unused-parameter -Werror"
        $CFLAGS << warnings # standard:disable Style/GlobalVars
      end

      def give_up(reason) = stop("#{reason}\n\n#{INSTALL}")

      def stop(message)
        $makefile_created = true # standard:disable Style/GlobalVars -- else mkmf adds its own error
        abort "\n#{message}\n"
      end
    end
  end
end

Godwit::Extconf.configure
