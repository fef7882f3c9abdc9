// swift-tools-version: 6.2

import PackageDescription

// A separate package, so that packages that depend on Campanile do not resolve its dependencies.
let package = Package(
  name: "inspected",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "campanile", path: "../..", traits: [.defaults, "Page"])],
  targets: ["inspected", "crowded"].map { name in
    .executableTarget(
      name: name,
      dependencies: [
        .product(name: "Campanile", package: "campanile"),
        .product(name: "CampanileInspector", package: "campanile"),
      ],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .strictMemorySafety(),
        .treatAllWarnings(as: .error),
      ])
  },
  swiftLanguageModes: [.v6]
)
