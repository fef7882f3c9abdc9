// swift-tools-version: 6.2

import PackageDescription

// What has a dependency stands behind a trait: without it nothing else is resolved.
let sockets = Target.Dependency.product(
  name: "FlyingSocks", package: "FlyingFox", condition: .when(traits: ["Page"]))
let client: [Target.Dependency] =
  [
    ("NIOCore", "swift-nio"), ("NIOPosix", "swift-nio"), ("NIOSSL", "swift-nio-ssl"),
    ("ServiceLifecycle", "swift-service-lifecycle"), ("Logging", "swift-log"),
    ("Metrics", "swift-metrics"),
  ].map { .product(name: $0, package: $1, condition: .when(traits: ["NATS"])) } + [
    // It brings a second copy of the library that swift-nio-ssl has for TLS.
    .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["NKeys"]))
  ]

let package = Package(
  name: "campanile",
  // Nobody has built the package for these yet; the README says what was verified where.
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Campanile", targets: ["Campanile"]),
    .library(name: "CampanileFoundation", targets: ["CampanileFoundation"]),
    .library(name: "CampanileNotificationCenter", targets: ["CampanileNotificationCenter"]),
    .library(name: "CampanileKVO", targets: ["CampanileKVO"]),
    .library(name: "CampanileTesting", targets: ["CampanileTesting"]),
    .library(name: "CampanileInspector", targets: ["CampanileInspector"]),
    .library(name: "CampanileRelay", targets: ["CampanileRelay"]),
    .library(name: "CampanileNATS", targets: ["CampanileNATS"]),
    // Of another name than its target: a file system may take Campanile and campanile for the same.
    .executable(name: "campanile", targets: ["CampanileCommand"]),
  ],
  traits: [
    .trait(
      name: "Page", description: "The live page of CampanileInspector, which takes FlyingFox."),
    .trait(
      name: "NATS", description: "The client of CampanileNATS, which takes SwiftNIO and others."),
    .trait(
      name: "NKeys",
      description: "NKeys and files of credentials for CampanileNATS, which take swift-crypto.",
      enabledTraits: ["NATS"]),
    .default(enabledTraits: []),
  ],
  dependencies: [
    .package(url: "https://github.com/swhitty/FlyingFox.git", from: "0.27.1"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
    .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
    .package(
      url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
  ],
  targets: [
    .systemLibrary(name: "CampanileRuntime"),
    .target(
      name: "Campanile", dependencies: ["CampanileRuntime"],
      exclude: [
        "README.md", "Engine/README.md", "Engine/Mailbox/README.md", "Engine/Memory/README.md",
      ]
    ),
    .target(name: "CampanileFoundation", dependencies: ["Campanile"]),
    .target(
      name: "CampanileNotificationCenter",
      dependencies: ["CampanileFoundation", "CampanileRelay", "Campanile"]
    ),
    .target(name: "CampanileKVO", dependencies: ["Campanile"]),
    .target(name: "CampanileTesting", dependencies: ["Campanile"]),
    .target(
      name: "CampanileInspector", dependencies: ["Campanile", sockets],
      resources: [.embedInCode("Page/page.html")]
    ),
    .target(name: "CampanileRelay", dependencies: ["Campanile", "CampanileRuntime"]),
    .target(name: "CampanileNATS", dependencies: ["CampanileRelay", "Campanile"] + client),
    .executableTarget(
      name: "CampanileCommand", dependencies: ["CampanileNATS", "CampanileRelay", "Campanile"]),
    .executableTarget(
      name: "player",
      dependencies: ["CampanileInspector", "CampanileRelay", "CampanileKVO", "Campanile"],
      path: "Examples/Player"
    ),
    .executableTarget(name: "list", dependencies: ["CampanileKVO"], path: "Examples/List"),
    .target(
      name: "TestSupport", dependencies: ["CampanileTesting", "Campanile"],
      path: "Tests/TestSupport"
    ),
    .testTarget(
      name: "CampanileTests", dependencies: ["CampanileFoundation", "Campanile", "TestSupport"]
    ),
    .testTarget(
      name: "CampanileFoundationTests",
      dependencies: [
        "CampanileNotificationCenter", "CampanileFoundation", "Campanile", "TestSupport",
      ]
    ),
    .testTarget(
      name: "CampanileNotificationCenterTests",
      dependencies: [
        "CampanileNotificationCenter", "CampanileFoundation", "CampanileRelay", "Campanile",
        "TestSupport",
      ]
    ),
    .testTarget(
      name: "CampanileKVOTests",
      dependencies: ["CampanileKVO", "Campanile", "TestSupport"]
    ),
    .executableTarget(
      name: "traced", dependencies: ["CampanileInspector", "CampanileFoundation", "Campanile"],
      path: "Tests/Traced"
    ),
    .testTarget(
      name: "CampanileInspectorTests",
      dependencies: [
        "CampanileInspector", "CampanileFoundation", "CampanileRelay", "Campanile", "TestSupport",
        "traced", sockets,
      ]
    ),
    .executableTarget(
      name: "member", dependencies: ["CampanileRelay", "CampanileFoundation", "Campanile"],
      path: "Tests/RelayMember"
    ),
    .target(
      name: "RelayTestSupport",
      dependencies: ["CampanileRelay", "CampanileTesting", "Campanile", "TestSupport"] + client,
      path: "Tests/RelayTestSupport"
    ),
    .testTarget(
      name: "CampanileRelayTests",
      dependencies: [
        "CampanileNATS", "CampanileRelay", "CampanileTesting", "Campanile", "RelayTestSupport",
        "TestSupport", "member",
      ]
    ),
    .testTarget(
      name: "CampanileNATSTests",
      dependencies: [
        "CampanileNATS", "CampanileRelay", "CampanileTesting", "Campanile", "RelayTestSupport",
        "TestSupport", "CampanileCommand",
      ] + client
        + [
          .product(
            name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["NATS"])),
          .product(name: "NIOEmbedded", package: "swift-nio", condition: .when(traits: ["NATS"])),
        ]
    ),
    .testTarget(
      name: "CommandTests",
      dependencies: [
        "CampanileCommand", "CampanileRelay", "Campanile", "RelayTestSupport", "TestSupport",
        "player",
      ]
    ),
    .testTarget(
      name: "CampanileTestingTests", dependencies: ["CampanileTesting", "Campanile", "TestSupport"]
    ),
    .testTarget(
      name: "CampanileTestingXCTests", dependencies: ["CampanileTesting", "Campanile"]
    ),
    .executableTarget(name: "journeys", dependencies: ["Campanile"], path: "Tests/Journeys"),
    .executableTarget(
      name: "conformance",
      dependencies: [
        "CampanileTesting", "CampanileNotificationCenter", "CampanileKVO", "Campanile",
      ],
      path: "Tests/Conformance"
    ),
    .testTarget(name: "ConformanceTests", dependencies: ["conformance", "TestSupport"]),
    .testTarget(name: "PlayerTests", dependencies: ["player"]),
  ],
  swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system {
  target.swiftSettings =
    (target.swiftSettings ?? []) + [
      .enableUpcomingFeature("ExistentialAny"),
      .enableUpcomingFeature("InternalImportsByDefault"),
      .enableUpcomingFeature("MemberImportVisibility"),
      .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
      .enableUpcomingFeature("InferIsolatedConformances"),
      .enableUpcomingFeature("ImmutableWeakCaptures"),
      .strictMemorySafety(),
      .treatAllWarnings(as: .error),
    ]
}

// Building all tests takes minutes; who runs some of them names their targets.
if let names = Context.environment["CAMPANILE_TEST_TARGETS"]?.split(separator: " ") {
  let tests = package.targets.filter { $0.type == .test }.map(\.name)
  precondition(names.allSatisfy { tests.contains(String($0)) }, "The test targets are \(tests)")
  package.targets.removeAll { $0.type == .test && !names.contains(Substring($0.name)) }
}
