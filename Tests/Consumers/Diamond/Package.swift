// swift-tools-version: 6.2

import PackageDescription

// A package whose one dependency asks for the page, and whose other does not.
let package = Package(
  name: "diamond",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "paged", path: "../Paged"),
    .package(name: "plain", path: "../Plain"),
    .package(url: "CAMPANILE", from: "99.0.0"),
    // SwiftPM 6.3 does not find what a trait needs if another package asks for Campanile without
    // it. Named here, it is found.
    .package(url: "https://github.com/swhitty/FlyingFox.git", from: "0.27.1"),
  ],
  targets: [
    .executableTarget(
      name: "diamond",
      dependencies: [
        .product(name: "Plain", package: "plain"),
        .product(name: "Paged", package: "paged"),
        .product(name: "Campanile", package: "campanile"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
