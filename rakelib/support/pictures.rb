# frozen_string_literal: true

require "digest"
require "open3"
require "tmpdir"

module Godwit
  # docs/pictures/NAME.svg, made by graphviz from NAME.dot. One file serves light and dark pages:
  # its style has both palettes. The machine's fonts do not change the bytes.
  class Pictures
    ROOT = File.expand_path("../..", __dir__)
    FOLDER = "docs/pictures"
    MOST = 10
    PACKAGE = "graphviz"
    # The plugin pango measures texts in the machine's fonts. Without it graphviz uses a table.
    PLUGINS = %w[core dot_layout].freeze
    DEFAULTS = %w[
      -Gbgcolor=transparent -Gfontname=Helvetica -Gfontsize=12
      -Nshape=box -Nstyle=rounded -Nfontname=Helvetica -Nfontsize=12 -Nmargin=0.24,0.1
      -Efontname=Helvetica -Efontsize=11 -Earrowsize=0.7
    ].freeze
    STYLE = <<~CSS
      text { fill: #1f2328 } .quiet text { fill: #6e7781 }
      .node path, .node polygon, .node polyline, .edge path, .edge polygon { stroke: #57606a }
      .edge polygon { fill: #57606a }
      .socket path { fill: #ddf4ff; stroke: #0969da }
      .frames path, .frames polygon { fill: #fff8c5 }
      .cluster polygon { stroke: #afb8c1 }
      @media (prefers-color-scheme: dark) {
        text { fill: #e6edf3 } .quiet text { fill: #8d96a0 }
        .node path, .node polygon, .node polyline, .edge path, .edge polygon { stroke: #8d96a0 }
        .edge polygon { fill: #8d96a0 }
        .socket path { fill: #121d2f; stroke: #4493f8 }
        .frames path, .frames polygon { fill: #272115 }
        .cluster polygon { stroke: #484f58 }
      }
    CSS

    class << self
      # @return [Array<String>] paths of the sources
      def sources = Dir["#{ROOT}/#{FOLDER}/*.dot"].sort

      # @return [Array<String>] what is wrong with the committed pictures; needs no graphviz
      def problems
        pictures = Dir["#{ROOT}/#{FOLDER}/*.svg"].sort
        pages = Dir["#{ROOT}/{README.md,docs/*.md}"].map { |path| File.read(path) }.join
        [
          *stale.map { |path| "#{path}: its picture is of another source: rake docs:pictures" },
          *(pictures - sources.map { |path| picture(path) }).map { |path| "#{path}: no source" },
          *pictures.reject { |path| pages.include?("pictures/#{File.basename(path)}") }
            .map { |path| "#{path}: no page shows it" },
          *("#{FOLDER}: #{pictures.size} pictures, at most #{MOST}" if pictures.size > MOST)
        ]
      end

      # @return [String] path of a source's picture
      def picture(source) = source.sub(/dot\z/, "svg")

      # @return [String] the comment that names the source of a picture, and its state
      def mark(source)
        sum = Digest::SHA256.hexdigest([File.read(source), *DEFAULTS, STYLE].join("\0"))
        "<!-- #{File.basename(source)} #{sum[0, 16]} -->"
      end

      private

      def stale
        sources.reject do |source|
          File.exist?(picture(source)) && File.read(picture(source)).include?(mark(source))
        end
      end
    end

    # Makes all pictures.
    # @raise [RuntimeError] without graphviz
    def write
      Dir.mktmpdir do |folder|
        link_plugins(folder)
        self.class.sources.each do |source|
          svg = dot({"GVBINDIR" => folder}, "-Tsvg", *DEFAULTS, source)
          File.write(self.class.picture(source), styled(source, svg))
        end
      end
    end

    private

    def link_plugins(folder)
      plugins = dot({}, "-v", "-Tdot", stdin_data: "graph {}")[/libdir = "(.+)"/, 1] or
        raise "dot -v names no libdir"
      files = Dir["#{plugins}/libgvplugin_{#{PLUGINS.join(",")}}.so*"]
      files.each { |file| File.symlink(file, "#{folder}/#{File.basename(file)}") }
      dot({"GVBINDIR" => folder}, "-c")
    end

    def dot(env, *arguments, **input)
      output, status = Open3.capture2e(env, "dot", *arguments, **input)
      status.success? ? output : raise("dot #{arguments.join(" ")}: #{output}")
    rescue Errno::ENOENT
      raise "no program dot: apt-get install --no-install-recommends #{PACKAGE}"
    end

    # Without comments (graphviz' version), the titles of nodes, and ids. The graph's name is the
    # picture's title.
    def styled(source, svg)
      title = svg[/^<title>(.*)<\/title>/, 1]
      body = svg[/<svg.*/m].gsub(/<!--.*?-->\n?/m, "").gsub(/^<title>.*<\/title>\n/, "")
      body = body.gsub(/ id="\w+"/, "").sub(/ xmlns:xlink="[^"]*"/, "")
      body.sub(/<svg (.*?)>/m) do
        "<svg role=\"img\" #{$1}>\n#{self.class.mark(source)}\n<title>#{title}</title>\n" \
          "<style>\n#{STYLE}</style>"
      end
    end
  end
end
