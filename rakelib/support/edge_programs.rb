# frozen_string_literal: true

require_relative "debian_packages"

# The programs that the edge is built for, tested and measured with: the system's nginx if nginx-dev
# is installed too, and the system's redis-server and wrk; else Debian's, unpacked in the cache.
module EdgePrograms
  NAMES = %w[nginx nginx-dev redis-server redis-tools wrk].freeze
  PACKAGES = Godwit::DebianPackages.new("edge", NAMES)
  # Where nginx-dev has the headers, and the scripts of `configure`.
  SOURCE = "usr/share/nginx/src"
  private_constant :PACKAGES, :SOURCE

  # @return [String]
  # @raise [Godwit::DebianSource::Failure] it is not installed and cannot be fetched
  def self.nginx = system_nginx? ? installed("nginx") : PACKAGES.program("nginx")

  # @return [String] the folder of nginx-dev
  def self.nginx_source = system_nginx? ? "/#{SOURCE}" : "#{PACKAGES.folder}/#{SOURCE}"

  # @return [String]
  def self.redis_server = program("redis-server")

  # @return [String]
  def self.redis_cli = program("redis-cli")

  # @return [String]
  def self.wrk = program("wrk")

  # @param path [String] one of the paths above
  # @return [Hash] the environment in which a program of the cache finds its libraries
  def self.env(path) = (installed(File.basename(path)) == path) ? {} : PACKAGES.env

  # @return [Boolean] whether the programs are here, or can be fetched
  def self.possible? = system_nginx? || !installed("apt-get").nil?

  def self.program(name) = installed(name) || PACKAGES.program(name)

  def self.system_nginx? = File.exist?("/#{SOURCE}/conf_flags") && !installed("nginx").nil?

  def self.installed(name) = Godwit::DebianSource.installed(name)
  private_class_method :program, :system_nginx?, :installed
end
