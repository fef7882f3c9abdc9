// swift-tools-version: 6.2

import PackageDescription

// A separate package, so that packages that depend on Campanile do not resolve its dependencies.
let package = Package(
  name: "carried",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "campanile", path: "../.."),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-service-context.git", from: "1.5.1"),
  ],
  targets: [
    .executableTarget(
      name: "carried",
      dependencies: [
        .product(name: "Campanile", package: "campanile"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceContextModule", package: "swift-service-context"),
      ],
      swiftSettings: [.treatAllWarnings(as: .error)]
    )
  ],
  swiftLanguageModes: [.v6]
)
